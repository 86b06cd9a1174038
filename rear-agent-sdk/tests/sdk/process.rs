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
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Broker {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        authority.server().write(&folder.path().join("certs"), &authority);
        let (child, address) = spawn(folder.path());
        Self { folder, authority, child, address }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// On the same data, at another port.
    pub(crate) fn restart(&mut self) {
        (self.child, self.address) = spawn(self.folder.path());
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

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(folder: &Path) -> (Child, SocketAddr) {
    let mut child = Command::new(program())
        .arg("serve")
        .arg("--data")
        .arg(folder.join("data"))
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
    (child, address.parse().unwrap())
}

/// The broker's program.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built(&["--package", "rear-broker", "--bin", "rear-broker"]))
}

/// A program, built by the same cargo: tests are not given the paths of another crate's, nor of examples.
pub(crate) fn built(what: &[&str]) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--locked",
            "--profile=test",
            "--quiet",
            "--message-format=json-render-diagnostics",
        ])
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(built.status.success(), "{what:?} does not build");
    let told = String::from_utf8(built.stdout).unwrap();
    let executable = told.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        message["executable"].as_str().map(PathBuf::from)
    });
    executable.expect("cargo names the program that it has built")
}
