//! The broker and the agents, as processes that end with this one.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{NAMESPACE, Outcome};

/// The unit of processor time in `/proc`, which Linux has fixed for programs.
const TICKS_PER_SECOND: u32 = 100;

/// A process. Dropping it kills it.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    /// In the processor since it started.
    pub(super) fn processor_time(&self) -> Outcome<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        let (_, after_name) = stat.rsplit_once(") ").ok_or("no process")?;
        let fields: Vec<_> = after_name.split(' ').collect();
        let ticks = fields[11].parse::<u32>()? + fields[12].parse::<u32>()?;
        Ok(Duration::from_secs(ticks.into()) / TICKS_PER_SECOND)
    }

    /// Resident at this moment and at most, in kB.
    pub(super) fn memory(&self) -> Outcome<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = |name: &str| -> Outcome<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no line")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok((line("VmRSS:")?, line("VmHWM:")?))
    }
}

/// A broker with its data.
pub(super) struct Broker {
    _running: Running,
    folder: tempfile::TempDir,
    address: String,
}

impl Broker {
    /// With a certificate for each cluster.
    pub(super) fn start<S: AsRef<str>>(clusters: &[S]) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        run(program("rear-broker")?.args(["init", "--data"]).arg(&data))?;
        for cluster in clusters {
            let issue = ["certs", "issue", cluster.as_ref(), "--data"];
            run(program("rear-broker")?.args(issue).arg(&data))?;
        }
        // Free at this moment, and nobody else is expected to want it.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let log = File::create(folder.path().join("broker.log"))?;
        let running = program("rear-broker")?
            .args(["serve", "--http-address", "127.0.0.1", "--metrics-bind-address", "0"])
            .args(["--health-probe-bind-address", "0", "--operations-bind-address", "0"])
            .args(["--http-port", &port, "--data"])
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let address = format!("https://localhost:{port}");
        Ok(Self { _running: Running(running), folder, address })
    }

    /// Where it answers.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The certificate of a cluster.
    pub(super) fn certificates(&self, cluster: &str) -> PathBuf {
        self.folder.path().join("data/issued").join(cluster)
    }

    /// The agent of a cluster.
    pub(super) fn agent(&self, kubeconfig: &Path, cluster: &str) -> Outcome<Running> {
        let log = File::create(self.folder.path().join(format!("{cluster}.log")))?;
        let certificates = self.certificates(cluster);
        let child = program("rear-agent")?
            .args(["--broker-transport=http", "--metrics-bind-address=0"])
            .args(["--health-probe-bind-address=0", "--broker-url", &self.address])
            .arg(format!("--advertisement-namespace={NAMESPACE}"))
            .arg("--broker-cert-path")
            .arg(certificates)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Running(child))
    }
}

/// Beside the folder of this one.
fn program(name: &str) -> Outcome<Command> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).map(PathBuf::from);
    let program = folder.ok_or("this program is nowhere")?.join(name);
    if !program.is_file() {
        let name = program.display();
        return Err(format!("{name} is missing").into());
    }
    Ok(Command::new(program))
}

fn run(command: &mut Command) -> Outcome<()> {
    let ended = command.output()?;
    if ended.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&ended.stderr).into_owned().into())
}
