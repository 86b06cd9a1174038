//! The agent's program, as an operator starts it.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use super::clock::Clock;
use super::process::Broker;
use super::site::Site;

/// The port is the kernel's choice; metrics would need another.
const NO_PORTS: [&str; 2] = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];

/// An agent that runs. Dropping it kills it.
pub(crate) struct Agent {
    child: Child,
    log: PathBuf,
}

/// How to start one.
pub(crate) struct Start<'a> {
    site: &'a Site,
    arguments: Vec<String>,
    kubeconfig: PathBuf,
    clock: Option<&'a Clock>,
}

impl<'a> Start<'a> {
    /// Without a broker.
    pub(crate) fn alone(site: &'a Site) -> Self {
        let arguments = ["--advertisement-namespace=rear-agent"];
        let arguments = arguments.iter().chain(&NO_PORTS).map(ToString::to_string).collect();
        Self { site, arguments, kubeconfig: site.kubeconfig.clone(), clock: None }
    }

    /// For a cluster of a broker.
    pub(crate) fn with(site: &'a Site, broker: &Broker, cluster: &str) -> Self {
        Self::at(site, broker, cluster, broker.address)
    }

    /// The same, by another way.
    pub(crate) fn at(site: &'a Site, broker: &Broker, cluster: &str, address: SocketAddr) -> Self {
        Self::towards(site, address, &broker.certificates(cluster))
    }

    /// At any broker, with the certificate of a folder.
    pub(crate) fn towards(site: &'a Site, address: SocketAddr, folder: &Path) -> Self {
        Self::alone(site)
            .flag("--broker-transport=http")
            .flag(&format!("--broker-url=https://{address}"))
            .flag(&format!("--broker-cert-path={}", folder.display()))
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    /// With a clock of its own.
    pub(crate) fn by(mut self, clock: &'a Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rear-agent"));
        command.args(&self.arguments).env("KUBECONFIG", &self.kubeconfig).env("NO_COLOR", "1");
        command.env("POD_NAMESPACE", "rear-agent").stdin(Stdio::null());
        command.envs(self.clock.iter().flat_map(|clock| clock.environment()));
        command
    }

    pub(crate) fn run(&self) -> Agent {
        let log = self.site.server.folder().join("agent.log");
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = self.command().stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Agent { child, log }
    }
}

impl Agent {
    /// Without a chance to say goodbye.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    pub(crate) fn log(&self) -> String {
        read(&self.log)
    }

    fn end(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
        if thread::panicking() {
            let log = read(&self.log);
            let lines: Vec<_> = log.lines().collect();
            eprintln!(
                "-- the agent's last words:\n{}",
                lines[lines.len().saturating_sub(25)..].join("\n")
            );
        }
    }
}
