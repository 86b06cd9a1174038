//! The command line of the program `rear-fleet`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use rear_agent_sdk::Chain;

use crate::{Cost, Fleet, Load, Polling, make_certificates, name};

/// How long the ends of promises may take to be told.
const PATIENCE: Duration = Duration::from_mins(1);

/// Simulated clusters that really speak to a REAR broker and watch over its promises.
#[derive(Debug, Parser)]
#[command(name = "rear-fleet", version, about, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make certificates for a broker on this machine and for clusters, to try them with
    Certificates(Certificates),
    /// Run a fleet, and say what it has seen; it ends with 1 if a promise was broken
    Run(Box<Run>),
    /// Have callers ask a huge cluster for 1m/1Mi, each on one connection, as fast as they are answered
    Load(LoadFlags),
    /// Have clients do what agents of the earlier system do: advertise every 30 s and poll every 5 s
    Poll(PollFlags),
    /// Watch a process, and say what it costs
    Cost(CostFlags),
}

#[derive(Debug, Args)]
struct Certificates {
    /// A folder; `broker` in it is for `rear-broker serve --http-cert-path`
    folder: PathBuf,
    /// For how many clusters
    #[arg(long, default_value_t = 100)]
    clusters: usize,
}

/// Where the broker is and who speaks to it.
#[derive(Debug, Args)]
struct Target {
    /// The broker, as https://HOST:PORT
    address: String,
    /// A folder with a folder of tls.crt, tls.key and ca.crt for each cluster, as `certs issue` writes them
    certificates: PathBuf,
}

#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    target: Target,
    /// How many clusters
    #[arg(long, default_value_t = 100)]
    clusters: usize,
    /// For how many seconds; until Ctrl-C if not given
    #[arg(long)]
    seconds: Option<u64>,
    /// The same seed makes the same clusters and wishes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Agents that only advertise on their schedule and wait for news: no churn, no wishes, no faults
    #[arg(long)]
    idle: bool,
    /// Seconds in which each cluster's own load changes about once; 0 for never
    #[arg(long, default_value_t = 30, conflicts_with = "idle")]
    churn: u64,
    /// Reservations that are asked for at once; 0 for none
    #[arg(long, default_value_t = 10, conflicts_with = "idle")]
    burst: usize,
    /// Milliseconds between bursts
    #[arg(long, default_value_t = 200, conflicts_with = "idle")]
    burst_every: u64,
    /// Seconds that a reservation lasts
    #[arg(long, default_value_t = 10, conflicts_with = "idle")]
    lasting: u64,
    /// Seconds in which each agent crashes about once; 0 for never
    #[arg(long, default_value_t = 0, conflicts_with = "idle")]
    crashes: u64,
    /// Requests of a hundred that are abandoned before their answer, and asked again
    #[arg(long, default_value_t = 0, conflicts_with = "idle")]
    lost_answers: u8,
}

#[derive(Debug, Args)]
struct LoadFlags {
    #[command(flatten)]
    target: Target,
    /// How many ask at once
    #[arg(long, default_value_t = 64)]
    callers: usize,
    /// For how many seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

#[derive(Debug, Args)]
struct PollFlags {
    #[command(flatten)]
    target: Target,
    /// How many agents
    #[arg(long, default_value_t = 100)]
    clusters: usize,
    /// For how many seconds
    #[arg(long, default_value_t = 120)]
    seconds: u64,
}

#[derive(Debug, Args)]
struct CostFlags {
    /// Its id
    pid: u32,
    /// For how many seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// What is said in the end, and whether all was as it should be.
type Said = (String, bool);

/// How it ends: codes, and what they mean.
pub const EXITS: [(u8, &str); 3] = [
    (0, "done, and every promise was kept"),
    (1, "a promise was broken, or something could not be done: the message says which"),
    (2, "the command line makes no sense"),
];

/// What clap knows of the command line, for the reference.
#[must_use]
pub fn grammar() -> clap::Command {
    CommandLine::command()
}

/// Parses, runs, and says how it ended.
pub async fn run() -> ExitCode {
    let said = match CommandLine::parse().command {
        Command::Certificates(flags) => flags.make(),
        Command::Run(flags) => flags.run().await,
        Command::Load(flags) => flags.run().await,
        Command::Poll(flags) => flags.run().await,
        Command::Cost(flags) => flags.run().await,
    };
    match said {
        Ok((text, fine)) => {
            // A reader that has seen enough is no error.
            drop(write!(std::io::stdout(), "{text}"));
            if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("rear-fleet: {}", Chain(&*error));
            ExitCode::FAILURE
        }
    }
}

impl Certificates {
    fn make(&self) -> Result<Said, Box<dyn Error>> {
        make_certificates(&self.folder, (0..self.clusters).map(name))?;
        let folder = self.folder.display();
        Ok((
            format!("{folder} holds certificates of a broker and {} clusters\n", self.clusters),
            true,
        ))
    }
}

impl Run {
    async fn run(&self) -> Result<Said, Box<dyn Error>> {
        let mut fleet = self.start()?;
        fleet.advertised().await;
        eprintln!("{} clusters have advertised", self.clusters);
        tokio::select! {
            () = wait(self.seconds) => {}
            pressed = tokio::signal::ctrl_c() => pressed?,
        }
        eprintln!("everything is given back and compared; Ctrl-C ends without it");
        let settled = tokio::select! {
            report = fleet.settle(PATIENCE) => Some(report),
            pressed = tokio::signal::ctrl_c() => { pressed?; None }
        };
        let seen = fleet.stop().await;
        let report = settled.unwrap_or(seen);
        Ok((report.to_string(), report.is_clean()))
    }

    fn start(&self) -> Result<Fleet, rear_agent_sdk::Error> {
        let Target { address, certificates } = &self.target;
        let mut plan =
            Fleet::builder(address, certificates).clusters(self.clusters).seed(self.seed);
        if self.idle {
            return plan.start();
        }
        plan = plan.lasting(Duration::from_secs(self.lasting)).lost_answers(self.lost_answers);
        if self.churn > 0 {
            plan = plan.churn(Duration::from_secs(self.churn));
        }
        if self.burst > 0 {
            plan = plan.bursts(self.burst, Duration::from_millis(self.burst_every));
        }
        if self.crashes > 0 {
            plan = plan.crashes(Duration::from_secs(self.crashes));
        }
        plan.start()
    }
}

async fn wait(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}

impl LoadFlags {
    async fn run(self) -> Result<Said, Box<dyn Error>> {
        let Target { address, certificates } = self.target;
        let span = Duration::from_secs(self.seconds);
        let report = Load { address, certificates, callers: self.callers, span }.run().await?;
        Ok((report.to_string(), report.is_clean()))
    }
}

impl PollFlags {
    async fn run(self) -> Result<Said, Box<dyn Error>> {
        let Target { address, certificates } = self.target;
        let span = Duration::from_secs(self.seconds);
        let report = Polling { address, certificates, clusters: self.clusters, span }.run().await?;
        Ok((report.to_string(), report.is_clean()))
    }
}

impl CostFlags {
    async fn run(&self) -> Result<Said, Box<dyn Error>> {
        let cost = Cost::watch(self.pid, Duration::from_secs(self.seconds)).await?;
        Ok((cost.to_string(), true))
    }
}
