//! A broker in a process of its own, which ends with its test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use super::client::Client;
use super::pki::{Authority, Identity};

/// A folder with a ledger and certificates, and the broker on them.
pub(crate) struct Broker {
    folder: tempfile::TempDir,
    pub(crate) authority: Authority,
    arguments: Vec<String>,
    child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Broker {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        authority.server().write(&folder.path().join("certs"), &authority);
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (child, address, log) = spawn(folder.path(), &arguments);
        Self { folder, authority, arguments, child, address, log }
    }

    /// Kills it without a word, and starts it again on the same data.
    pub(crate) fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.restart();
    }

    pub(crate) fn restart(&mut self) {
        (self.child, self.address, self.log) = spawn(self.folder.path(), &self.arguments);
    }

    /// Asks it to stop and waits for its end.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn certificates(&self) -> PathBuf {
        self.folder.path().join("certs")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("data/ledger.redb")
    }

    /// A folder with the certificate of a client, for programs that read files.
    #[cfg(feature = "clients")]
    pub(crate) fn files_of(&self, identity: &Identity, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        identity.write(&folder, &self.authority);
        folder
    }

    pub(crate) fn cluster(&self, name: &str) -> Client {
        self.client(Some(&self.authority.cluster(name)))
    }

    pub(crate) fn administrator(&self) -> Client {
        self.client(Some(&self.authority.administrator("operator")))
    }

    pub(crate) fn client(&self, identity: Option<&Identity>) -> Client {
        Client::new(self.address, &self.authority, identity)
    }

    /// Where one of its other listeners is: `metrics`, `probes` or `operations`.
    pub(crate) fn listener(&self, name: &str) -> SocketAddr {
        listener(&self.log(), name)
    }

    /// What it has said on its standard error.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        if thread::panicking() {
            eprintln!("the broker said:\n{}", self.log());
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The program with its arguments, before it is started.
pub(crate) fn program(folder: &Path, arguments: &[String]) -> Command {
    let mut command = apart();
    command
        .arg("serve")
        .arg("--data")
        .arg(folder.join("data"))
        .arg("--http-cert-path")
        .arg(folder.join("certs"))
        .args(arguments);
    command
}

/// The program among others of its kind: at ports of its own.
pub(crate) fn apart() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rear-broker"));
    command
        .env("REAR_HTTP_PORT", "0")
        .env("REAR_HTTP_ADDRESS", "127.0.0.1")
        .env("REAR_METRICS_BIND_ADDRESS", "127.0.0.1:0")
        .env("REAR_HEALTH_PROBE_BIND_ADDRESS", "127.0.0.1:0")
        .env("REAR_OPERATIONS_BIND_ADDRESS", "127.0.0.1:0")
        .env("REAR_LOG_FORMAT", "text")
        .env("NO_COLOR", "1")
        .stderr(Stdio::piped());
    command
}

fn spawn(folder: &Path, arguments: &[String]) -> (Child, SocketAddr, Arc<Mutex<String>>) {
    started(&mut program(folder, arguments))
}

/// A broker that serves, where it does, and what it says.
pub(crate) fn started(command: &mut Command) -> (Child, SocketAddr, Arc<Mutex<String>>) {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let log = Arc::new(Mutex::new(String::new()));
    let mut address = None;
    while let Some(Ok(line)) = lines.next() {
        log.lock().unwrap().extend([&line, "\n"]);
        address = address_in(&line);
        if address.is_some() {
            break;
        }
    }
    let Some(address) = address else { panic!("it does not serve:\n{}", log.lock().unwrap()) };
    let kept = log.clone();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            kept.lock().unwrap().extend([&line, "\n"]);
        }
    });
    (child, address.parse().unwrap(), log)
}

/// Where one of its other listeners is, as it has said.
pub(crate) fn listener(log: &str, name: &str) -> SocketAddr {
    let rest = log.split(&format!("{name}=\"")).nth(1).unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

/// Where it serves, if this line of the log says so, as text or as JSON.
fn address_in(line: &str) -> Option<String> {
    let rest = line.split("address=").nth(1).or_else(|| line.split("\"address\":\"").nth(1))?;
    rest.split([' ', '"']).next().map(str::to_owned)
}

/// What a listener without TLS answers: status and head, and the body.
#[allow(dead_code, reason = "not every test that has processes asks without TLS")]
pub(crate) fn plain(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}
