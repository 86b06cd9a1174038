//! The real broker in a process of its own, which ends with its test.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;

use rear_agent_sdk::HttpCommunicator;

use super::pki::{Authority, Identity};

/// A folder with a ledger and certificates, and the broker on them.
pub(crate) struct Broker {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) authority: Authority,
    process: Process,
    pub(crate) address: SocketAddr,
}

/// A broker that serves. It ends with this.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Broker {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these flags; a restart is without them.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        authority.server().write(&folder.path().join("certs"), &authority);
        let process = spawn_with(folder.path(), "data", flags);
        Self { folder, authority, address: process.address, process }
    }

    pub(crate) fn kill(&mut self) {
        self.process.child.kill().unwrap();
        self.process.child.wait().unwrap();
    }

    /// On the same data, at another port.
    pub(crate) fn restart(&mut self) {
        self.go_on_with(spawn(self.folder.path(), "data"));
    }

    fn go_on_with(&mut self, process: Process) {
        self.address = process.address;
        self.process = process;
    }

    /// Saves the ledger of a broker that does not run.
    pub(crate) fn save(&self) {
        self.snapshot("save", "data");
    }

    /// From now on it is one with the ledger that was saved, at another port; the one before ends when that one serves.
    pub(crate) fn replace_by_saved(&mut self) {
        self.snapshot("restore", "restored");
        self.go_on_with(spawn(self.folder.path(), "restored"));
    }

    fn snapshot(&self, command: &str, data: &str) {
        let folder = self.folder.path();
        let mut run = Command::new(program());
        run.args(["snapshot", command]).arg(folder.join("saved")).arg("--data");
        let output = run.arg(folder.join(data)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// A folder with the certificate of a cluster.
    pub(crate) fn certificates(&self, cluster: &str) -> PathBuf {
        self.files_of(&self.authority.cluster(cluster), cluster)
    }

    pub(crate) fn files_of(&self, identity: &Identity, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        identity.write(&folder, &self.authority);
        folder
    }

    /// A communicator with the certificate of a cluster.
    pub(crate) fn cluster(&self, name: &str) -> Arc<HttpCommunicator> {
        self.cluster_at(name, self.address)
    }

    pub(crate) fn cluster_at(&self, name: &str, address: SocketAddr) -> Arc<HttpCommunicator> {
        connect(address, self.certificates(name))
    }
}

pub(crate) fn connect(address: SocketAddr, certificates: PathBuf) -> Arc<HttpCommunicator> {
    Arc::new(HttpCommunicator::new(&format!("https://{address}"), certificates).unwrap())
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(folder: &Path, data: &str) -> Process {
    spawn_with(folder, data, &[])
}

fn spawn_with(folder: &Path, data: &str, flags: &[&str]) -> Process {
    let mut child = Command::new(program())
        .arg("serve")
        .args(flags)
        .arg("--data")
        .arg(folder.join(data))
        .arg("--http-cert-path")
        .arg(folder.join("certs"))
        .args(["--http-port", "0", "--http-address", "127.0.0.1"])
        .args(["--metrics-bind-address", "0", "--health-probe-bind-address", "0"])
        .args(["--operations-bind-address", "0", "--log-format", "text"])
        .env("NO_COLOR", "1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = String::new();
    let address = loop {
        let Some(line) = lines.next() else { panic!("it does not serve:\n{said}") };
        if let Some((_, rest)) = line.split_once("address=") {
            break rest.split(' ').next().unwrap().to_owned();
        }
        said.extend([line.as_str(), "\n"]);
    };
    // Nobody reads on: a full pipe would stop it.
    thread::spawn(move || lines.for_each(drop));
    Process { child, address: address.parse().unwrap() }
}

/// The broker's program.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| rear_testbed::programs::program("rear-broker"))
}
