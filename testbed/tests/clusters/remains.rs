//! Nothing is left of servers (processes, ports, folders), however the test that started them ended.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rear_testbed::{ApiServer, Etcd, Members, eventually};

/// Tells the child how to end.
const ENDING: &str = "REAR_TEST_ENDING";

/// Where the child writes the ports of its servers when they are ready; below its temporary folder.
const PORTS: &str = "ports";

/// Not a claim of its own: the test that ends. Without the environment it has nothing to do.
#[test]
fn the_test_that_ends() {
    let Ok(ending) = std::env::var(ENDING) else {
        return;
    };
    let server = ApiServer::start().unwrap();
    let mut etcd = Etcd::start(Members::Three).unwrap();
    // One that is stopped must go as well.
    etcd.member(2).unwrap().pause().unwrap();
    let urls = [vec![server.url()], etcd.endpoints()].concat();
    let ports: Vec<_> = urls.iter().filter_map(|url| url.rsplit(':').next()).collect();
    let beside = server.folder().parent().unwrap();
    fs::write(beside.join("unfinished"), ports.join(" ")).unwrap();
    fs::rename(beside.join("unfinished"), beside.join(PORTS)).unwrap();
    match ending.as_str() {
        "success" => {}
        "panic" => panic!("as planned"),
        _ => loop {
            std::thread::park();
        },
    }
}

/// The child, and a temporary folder that nobody else uses.
struct Watched {
    child: Child,
    temporary: tempfile::TempDir,
}

impl Watched {
    fn start(ending: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "remains::the_test_that_ends"])
            .env(ENDING, ending)
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, temporary }
    }

    /// The ports of the servers once they are ready.
    fn ports(&self) -> Vec<u16> {
        let file = self.temporary.path().join(PORTS);
        let text = eventually(|| fs::read_to_string(&file).ok()).expect("the child starts servers");
        fs::remove_file(file).unwrap();
        text.split(' ').map(|port| port.parse().unwrap()).collect()
    }

    /// Everything that the child started: servers, guards, and clients that ask.
    fn started(&self) -> Vec<u32> {
        processes().filter(|process| parent(*process) == Some(self.child.id())).collect()
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.wait();
    }

    /// What is left of the servers, in words; nothing if all is well.
    fn left(&self, started: &[u32], ports: &[u16]) -> Vec<String> {
        let folder = self.temporary.path();
        let of_ours = |process: &u32| started.contains(process) || mentions(*process, folder);
        let processes = processes().filter(|process| runs(*process)).filter(of_ours);
        let taken = ports.iter().filter(|port| TcpListener::bind(("127.0.0.1", **port)).is_err());
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        processes
            .map(|process| format!("process {process}: {}", command_line(process)))
            .chain(taken.map(|port| format!("port {port}")))
            .chain(files.map(|path| format!("folder {}", path.display())))
            .collect()
    }
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// A process that ended before we looked has no parent.
fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn command_line(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// One that ended and that nobody has asked about yet has no command line any more.
fn runs(process: u32) -> bool {
    !command_line(process).is_empty()
}

fn mentions(process: u32, folder: &Path) -> bool {
    command_line(process).contains(&folder.display().to_string())
}

/// Servers of the child: the API server and its etcd, three more of etcd, and two guards.
const STARTED: usize = 7;

#[test]
fn nothing_is_left_after_success() {
    let mut watched = Watched::start("success");
    let ports = watched.ports();
    assert_eq!(ports.len(), 4);
    assert!(watched.wait().success());
    assert_eq!(watched.left(&[], &ports), [""; 0]);
}

#[test]
fn nothing_is_left_after_a_panic() {
    let mut watched = Watched::start("panic");
    let ports = watched.ports();
    assert!(!watched.wait().success());
    assert_eq!(watched.left(&[], &ports), [""; 0]);
}

#[test]
fn nothing_is_left_soon_after_the_test_was_killed() {
    let mut watched = Watched::start("never");
    let ports = watched.ports();
    let started = watched.started();
    assert_eq!(started.len(), STARTED);
    // Each server and its port, the guards, the folders: the check sees what there is to see.
    assert_eq!(watched.left(&started, &ports).len(), STARTED + 4 + 2);
    watched.kill();
    let gone = eventually(|| watched.left(&started, &ports).is_empty().then_some(()));
    assert!(gone.is_some(), "left: {:#?}", watched.left(&started, &ports));
}

#[test]
fn nothing_is_left_of_a_test_that_was_killed_while_its_servers_started() {
    for number_started in 1..=4 {
        let mut watched = Watched::start("never");
        let started = eventually(|| {
            let started = watched.started();
            (started.len() >= number_started).then_some(started)
        });
        let started = started.expect("the child starts servers");
        watched.kill();
        let gone = eventually(|| watched.left(&started, &[]).is_empty().then_some(()));
        assert!(gone.is_some(), "left: {:#?}", watched.left(&started, &[]));
    }
}
