//! A real broker in a process of its own, the certificates that it issues, and people who use the program.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use rear_agent_sdk::communicator::{AdvertisementRequest, Reservation, ReservationRequest};
use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator, Intent, now};
use rear_api::amounts::ResourceList;
use rear_api::moment;
use tokio::runtime::Runtime;

use super::program::Ctl;

/// No claim waits longer than this for something that must come; what does is stuck.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs what is asynchronous, for all tests.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap())
}

/// Waits until something is there.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let looks = PATIENCE.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..looks {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
    panic!("it is stuck: {what}");
}

/// A data directory that `rear-broker init` made, and the broker on it.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    serving: Mutex<Option<(Child, SocketAddr)>>,
    arguments: Vec<String>,
}

impl Stage {
    /// A broker with nothing but what `init` made.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let stage = Self::prepared(arguments);
        stage.serve();
        stage
    }

    /// Before the broker is started.
    pub(crate) fn prepared(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let stage = Self { folder, serving: Mutex::new(None), arguments };
        stage.operate(&["init", "--data", "data"]);
        stage
    }

    /// Runs a command of the broker's operator, which must succeed.
    pub(crate) fn operate(&self, arguments: &[&str]) {
        let output = Command::new(broker())
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Starts the broker; at the port that it had, if it had one.
    pub(crate) fn serve(&self) {
        self.serve_on("data");
    }

    fn serve_on(&self, data: &str) {
        let mut serving = self.serving.lock().unwrap();
        let port = serving.as_ref().map_or(0, |(_, address)| address.port());
        let mut command = Command::new(broker());
        command.current_dir(self.folder.path()).env("NO_COLOR", "1");
        command.args(["serve", "--data", data, "--http-address", "127.0.0.1"]);
        command.args(["--http-port", &port.to_string(), "--metrics-bind-address", "0"]);
        command.args(["--health-probe-bind-address", "0", "--operations-bind-address", "0"]);
        command.args(["--log-format", "text"]);
        *serving = Some(started(command.args(&self.arguments)));
    }

    /// Kills it without a word.
    pub(crate) fn kill(&self) {
        let mut serving = self.serving.lock().unwrap();
        let (child, _) = serving.as_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Kills it, and starts it on what was restored from a snapshot, with the same certificates.
    pub(crate) fn restore(&self) {
        self.kill();
        self.operate(&["snapshot", "save", "saved", "--data", "data"]);
        self.operate(&["snapshot", "restore", "saved", "--data", "restored"]);
        std::fs::create_dir_all(self.path("restored/tls")).unwrap();
        for name in ["tls.crt", "tls.key", "ca.crt", "ca.crl"] {
            let path = |data: &str| self.path(data).join("tls").join(name);
            std::fs::copy(path("data"), path("restored")).unwrap();
        }
        self.serve_on("restored");
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.serving.lock().unwrap().as_ref().unwrap().1
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of a certificate, issued when it is first asked for.
    pub(crate) fn certificates(&self, name: &str) -> PathBuf {
        let folder = self.path("data/issued").join(name);
        if !folder.exists() {
            self.operate(&["certs", "issue", name, "--data", "data"]);
        }
        folder
    }

    /// The program, as someone uses it with this certificate.
    pub(crate) fn ctl(&self, name: &str, arguments: &[&str]) -> Ctl {
        Ctl::new(self.folder.path(), arguments).to(&self.url(), &self.certificates(name))
    }

    /// The program as the administrator uses it.
    pub(crate) fn admin(&self, arguments: &[&str]) -> Ctl {
        self.ctl("admin", arguments)
    }

    /// What an agent of a cluster has.
    pub(crate) fn agent(&self, name: &str) -> HttpCommunicator {
        HttpCommunicator::new(&self.url(), self.certificates(name)).unwrap()
    }

    /// A cluster advertises.
    pub(crate) fn advertise(&self, body: &AdvertisementRequest) {
        let agent = self.agent(&body.cluster_id);
        runtime().block_on(agent.publish(body)).unwrap();
    }

    /// A cluster asks for something for ten hours.
    pub(crate) fn reserve(&self, name: &str, cpu: &str, memory: &str) -> Reservation {
        let duration = Some("10h".to_owned());
        let request = ReservationRequest { duration, ..rear_agent_sdk::request(cpu, memory) };
        runtime().block_on(self.agent(name).reserve(&request, &Intent::new())).unwrap()
    }

    /// A reservation as it is now.
    pub(crate) fn reservation(&self, id: &str) -> Reservation {
        runtime().block_on(self.agent("admin").reservation(id)).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((child, _)) = self.serving.get_mut().unwrap() {
            // It may have ended already.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn started(command: &mut Command) -> (Child, SocketAddr) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = String::new();
    let address = loop {
        let Some(line) = lines.next() else { panic!("it does not serve:\n{said}") };
        if let Some((_, rest)) = line.split_once("address=") {
            break rest.split(' ').next().unwrap().parse().unwrap();
        }
        said.extend([line.as_str(), "\n"]);
    };
    // Nobody reads on: a full pipe would stop it.
    thread::spawn(move || lines.for_each(drop));
    (child, address)
}

/// The broker's program.
fn broker() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| rear_testbed::programs::program("rear-broker"))
}

pub(crate) fn amounts(cpu: &str, memory: &str) -> ResourceList {
    ResourceList { cpu: cpu.into(), memory: memory.into(), gpu: None, storage: None }
}

/// A cluster of this size, of which so much is used.
pub(crate) fn cluster(name: &str, size: ResourceList, used: ResourceList) -> AdvertisementRequest {
    AdvertisementRequest::new(name, moment::text(now()), size, used)
}

/// An idle cluster.
pub(crate) fn idle(name: &str, cpu: &str, memory: &str) -> AdvertisementRequest {
    cluster(name, amounts(cpu, memory), amounts("0", "0"))
}
