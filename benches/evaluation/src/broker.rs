//! The broker that is evaluated: a process with a ledger of its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rear_agent_sdk::HttpCommunicator;

use crate::child::Child;
use crate::stage::{ADMINISTRATOR, Stage, Trouble};

/// For one look at the metrics.
const LOOK: Duration = Duration::from_secs(30);

/// A broker that serves, and its data.
pub(crate) struct Broker<'a> {
    stage: &'a Stage,
    program: PathBuf,
    data: PathBuf,
    certificates: PathBuf,
    port: u16,
    extra: Vec<String>,
    child: Child,
    metrics: Option<SocketAddr>,
}

impl<'a> Broker<'a> {
    /// On a new ledger.
    pub(crate) fn start(stage: &'a Stage) -> Result<Self, Trouble> {
        Self::start_with(stage, &[])
    }

    pub(crate) fn start_with(stage: &'a Stage, extra: &[&str]) -> Result<Self, Trouble> {
        Self::start_on(stage, stage.new_folder("data")?, stage.certificates("broker"), extra)
    }

    /// On a new ledger, as it was built elsewhere.
    pub(crate) fn start_program(stage: &'a Stage, program: PathBuf) -> Result<Self, Trouble> {
        let data = stage.new_folder("data")?;
        Self::launch(stage, program, data, stage.certificates("broker"), &[])
    }

    /// On this folder, with these certificates.
    pub(crate) fn start_on(
        stage: &'a Stage,
        data: PathBuf,
        certificates: PathBuf,
        extra: &[&str],
    ) -> Result<Self, Trouble> {
        let program = stage.programs().path("rear-broker")?;
        Self::launch(stage, program, data, certificates, extra)
    }

    fn launch(
        stage: &'a Stage,
        program: PathBuf,
        data: PathBuf,
        certificates: PathBuf,
        extra: &[&str],
    ) -> Result<Self, Trouble> {
        let port = free_port()?;
        let extra: Vec<String> = extra.iter().map(ToString::to_string).collect();
        let (child, metrics) = serve(&mut plain(&program, &data, &certificates, port, &extra))?;
        Ok(Self { stage, program, data, certificates, port, extra, child, metrics })
    }

    /// The command of this broker, for who starts it otherwise.
    pub(crate) fn command(&self) -> Command {
        plain(&self.program, &self.data, &self.certificates, self.port, &self.extra)
    }

    /// Starts it again, at the same place on the same data.
    pub(crate) fn restart(&mut self) -> Result<(), Trouble> {
        let mut command = self.command();
        self.restart_as(&mut command)
    }

    pub(crate) fn restart_as(&mut self, command: &mut Command) -> Result<(), Trouble> {
        (self.child, self.metrics) = serve(command)?;
        Ok(())
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.child.kill().map(drop)
    }

    /// Whether its process has ended by itself, and how.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.ended()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// All certificates.
    pub(crate) fn pki(&self) -> PathBuf {
        self.stage.pki()
    }

    /// A new folder beside its data.
    pub(crate) fn new_folder(&self, name: &str) -> io::Result<PathBuf> {
        self.stage.new_folder(name)
    }

    pub(crate) fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) fn socket(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    pub(crate) fn connect(&self, who: &str) -> Result<Arc<HttpCommunicator>, Trouble> {
        self.stage.connect(&self.address(), who)
    }

    pub(crate) fn administrator(&self) -> Result<Arc<HttpCommunicator>, Trouble> {
        self.connect(ADMINISTRATOR)
    }

    /// Where its metrics are.
    pub(crate) fn metrics(&self) -> Result<SocketAddr, Trouble> {
        self.metrics.ok_or_else(|| Trouble::Other("there are no metrics".into()))
    }

    /// The sum of a metric over its labels.
    pub(crate) fn metric(&self, name: &str) -> Result<f64, Trouble> {
        Ok(sum_of(&metrics_at(self.metrics()?)?, name))
    }

    /// The same, of something that is counted.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count, far below 2⁵³"
    )]
    pub(crate) fn count(&self, name: &str) -> Result<u64, Trouble> {
        Ok(self.metric(name)? as u64)
    }

    /// Ends it, and has every record and invariant of its ledger looked at by `rear-broker verify`. What it finds.
    pub(crate) fn verify(mut self) -> Result<Vec<String>, Trouble> {
        self.kill()?;
        let found = self.look_at_rest(&self.data);
        std::fs::remove_dir_all(&self.data)?;
        found
    }

    /// What `rear-broker verify` finds in a ledger that nobody has open.
    pub(crate) fn look_at_rest(&self, data: &Path) -> Result<Vec<String>, Trouble> {
        let mut command = self.program();
        let said = said_by(command.args(["verify", "--data"]).arg(data))?;
        Ok(said.err().map(|said| format!("verify: {said}")).into_iter().collect())
    }

    /// Saves the ledger of the running broker, as its administrator.
    pub(crate) fn save(&self, file: &Path) -> Result<(), Trouble> {
        let mut command = self.program();
        command.args(["snapshot", "save"]).arg(file).args(["--url", &self.address()]);
        command.arg("--certificates").arg(self.stage.certificates(ADMINISTRATOR));
        said_by(&mut command)?.map_err(|said| Trouble::Other(format!("snapshot save: {said}")))
    }

    /// Makes a ledger of what was saved.
    pub(crate) fn restore(&self, file: &Path, data: &Path) -> Result<(), Trouble> {
        let mut command = self.program();
        command.args(["snapshot", "restore"]).arg(file).arg("--data").arg(data);
        said_by(&mut command)?.map_err(|said| Trouble::Other(format!("snapshot restore: {said}")))
    }

    /// From the next start on it is on other data.
    pub(crate) fn move_to(&mut self, data: PathBuf) {
        self.data = data;
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(&mut self) -> Result<ExitStatus, Trouble> {
        let id = i32::try_from(self.id()).ok().and_then(rustix::process::Pid::from_raw);
        let id = id.ok_or_else(|| Trouble::Other("the broker has no id".to_owned()))?;
        rustix::process::kill_process(id, rustix::process::Signal::TERM)
            .map_err(io::Error::from)?;
        Ok(self.child.wait()?)
    }

    fn program(&self) -> Command {
        Command::new(&self.program)
    }
}

/// Whether a command has ended well; if not, what it said.
fn said_by(command: &mut Command) -> Result<Result<(), String>, Trouble> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let said = [output.stdout, output.stderr].concat();
    Ok(Err(String::from_utf8_lossy(&said).trim().to_owned()))
}

/// All metrics of a broker at this moment.
pub(crate) fn metrics_at(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn plain(program: &Path, data: &Path, certificates: &Path, port: u16, extra: &[String]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("serve")
        .arg("--data")
        .arg(data)
        .arg("--http-cert-path")
        .arg(certificates)
        .args(["--http-address", "127.0.0.1", "--http-port", &port.to_string()])
        .args(["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0"])
        .args(["--operations-bind-address", "0", "--log-format", "text"])
        .args(["--administrator", ADMINISTRATOR])
        // As an operator who keeps it: in a file, which costs about as much as the log.
        .arg("--audit-log")
        .arg(data.join("audit.log"))
        .args(extra)
        .env("NO_COLOR", "1")
        .stderr(Stdio::piped());
    command
}

/// Waits until it says that it serves.
fn serve(command: &mut Command) -> Result<(Child, Option<SocketAddr>), Trouble> {
    let mut child = Child::spawn(command)?;
    let mut lines = BufReader::new(child.take_stderr()?).lines();
    let mut said = String::new();
    loop {
        let Some(line) = lines.next().transpose()? else {
            return Err(Trouble::Other(format!("the broker does not serve: {said}")));
        };
        said.extend([line.as_str(), "\n"]);
        if line.contains("address=") {
            break;
        }
    }
    let metrics = said.split("metrics=\"").nth(1).and_then(|rest| rest.split('"').next());
    let metrics = metrics.and_then(|address| address.parse().ok());
    // Nobody reads on: a full pipe would stop it.
    thread::spawn(move || lines.for_each(drop));
    Ok((child, metrics))
}

/// Free at this moment; a broker that is killed comes back to the same place, so that it has to be known.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The sum of a metric over its labels.
pub(crate) fn sum_of(metrics: &str, name: &str) -> f64 {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value =
            rest.strip_prefix(' ').or_else(|| Some(rest.strip_prefix('{')?.rsplit_once("} ")?.1));
        value?.trim().parse::<f64>().ok()
    });
    values.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_no_other() {
        let text = "# TYPE a gauge\na 2\na_total{x=\"1\"} 3\na_total{x=\"} 9\"} 4\n";
        assert!((sum_of(text, "a") - 2.0).abs() < 1e-9);
        assert!((sum_of(text, "a_total") - 7.0).abs() < 1e-9);
        assert!(sum_of(text, "b").abs() < 1e-9);
    }
}
