//! Several clusters with agents and a broker, to try things: what `cargo xtask playground` runs.
//!
//! `up` holds everything and takes it away at its end; the other commands find it by a note in the user's cache.

mod note;
#[path = "../figures/programs.rs"]
#[allow(dead_code, reason = "the measurements use more of it")]
mod programs;
mod up;
mod visit;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) const NAMESPACE: &str = "rear-agent";

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a broker, clusters and agents, and hold them until Ctrl-C or `down`.
    Up {
        /// How many clusters.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
        clusters: u8,
        /// Their names, with commas between, instead of cluster-1 and so on.
        #[arg(long, value_delimiter = ',', value_name = "NAMES", conflicts_with = "clusters")]
        names: Vec<String>,
        /// Only clusters with nodes: no broker, no agents, no custom resources; to install them by hand.
        #[arg(long)]
        bare: bool,
        /// A folder to make, for a kubeconfig of each cluster.
        #[arg(long, value_name = "DIR")]
        kubeconfigs: Option<PathBuf>,
    },
    /// Show what each cluster says, asks, uses and keeps.
    Status,
    /// Write the certificates that are Secrets of the clusters to files.
    Certs {
        /// The folder to make.
        folder: PathBuf,
    },
    /// The whole cycle once: ask, see both sides, give back.
    Reserve,
    /// End it.
    Down,
}

fn main() -> Outcome<()> {
    match Cli::parse().command {
        Command::Up { clusters, names, bare, kubeconfigs } => {
            let numbered = || (1..=clusters).map(|index| format!("cluster-{index}")).collect();
            let names = if names.is_empty() { numbered() } else { names };
            up::up(names, bare, kubeconfigs.as_deref())
        }
        Command::Status => visit::status(&note::read()?),
        Command::Certs { folder } => visit::certificates(&note::read()?, &folder),
        Command::Reserve => visit::reserve(&note::read()?),
        Command::Down => visit::down(&note::read()?),
    }
}

pub(crate) fn say(line: &str) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
