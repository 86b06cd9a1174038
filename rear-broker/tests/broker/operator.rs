//! What an operator has: the program, a data directory, curl.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::process::{apart, started};

/// A place for data directories.
pub(crate) struct Operator {
    place: tempfile::TempDir,
}

/// A broker on a data directory, with nothing but what `init` made.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) text: String,
    pub(crate) complaint: String,
}

impl Operator {
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap() }
    }

    /// With a data directory that was initialised.
    pub(crate) fn initialised() -> Self {
        let operator = Self::new();
        operator.does(&["init", "--data", "data"]);
        operator
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Where the certificate of someone is.
    pub(crate) fn issued(&self, name: &str) -> PathBuf {
        self.path("data/issued").join(name)
    }

    fn program(&self) -> Command {
        let mut command = apart();
        command.current_dir(self.place.path());
        command
    }

    /// Runs a command among the data directories.
    pub(crate) fn tries(&self, arguments: &[&str]) -> Told {
        told(&self.program().args(arguments).output().unwrap())
    }

    /// Runs a command that must succeed, and returns what it says.
    pub(crate) fn does(&self, arguments: &[&str]) -> String {
        let told = self.tries(arguments);
        assert_eq!(told.code, 0, "{told:?}");
        told.text
    }

    pub(crate) fn openssl(&self, arguments: &[&str]) -> Told {
        let mut command = Command::new("openssl");
        told(&command.current_dir(self.place.path()).args(arguments).output().unwrap())
    }

    /// Starts a broker with no more than a data directory.
    pub(crate) fn serve(&self, data: &str) -> Served {
        self.serve_with(data, &[])
    }

    pub(crate) fn serve_with(&self, data: &str, arguments: &[&str]) -> Served {
        let mut command = self.program();
        command.args(["serve", "--data", data]).args(arguments);
        let (child, address, log) = started(&mut command);
        Served { child, address, log }
    }
}

fn told(output: &Output) -> Told {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Told {
        code: output.status.code().unwrap(),
        text: text(&output.stdout),
        complaint: text(&output.stderr),
    }
}

impl Served {
    /// Calls it with curl and the certificate in a folder; `None` if there is no answer at all.
    pub(crate) fn curl(
        &self,
        certificate: &Path,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let file = |name: &str| certificate.join(name);
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "60", "-w", "\n%{http_code}", "-X", method]);
        command.arg("--cacert").arg(file("ca.crt"));
        command.arg("--cert").arg(file("tls.crt")).arg("--key").arg(file("tls.key"));
        if let Some(body) = body {
            command.args(["-d", &body.to_string()]);
        }
        command.arg(format!("https://localhost:{}{path}", self.address.port()));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let (body, status) = said.rsplit_once('\n').unwrap();
        if !output.status.success() {
            return None;
        }
        Some((status.parse().unwrap(), serde_json::from_str(body).unwrap()))
    }

    /// Waits until it has said this.
    pub(crate) fn wait_for(&self, words: &str) {
        while !self.log.lock().unwrap().contains(words) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Asks it to stop and waits for its end.
    pub(crate) fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
