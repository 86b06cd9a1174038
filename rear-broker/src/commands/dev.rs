//! `rear-broker dev`: everything at once, to try it.

use std::path::PathBuf;

use clap::Args;
use rear_engine::Timestamp;

use crate::cli::{Failure, Said, exit};
use crate::dev::{self, Wanted};

/// Its flags.
#[derive(Debug, Args)]
pub struct Dev {
    /// How many clusters are simulated: 2 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=1000))]
    clusters: u16,
    /// A directory that is kept; without it everything is gone in the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The port of the API on this machine; without it 8443, or any that is free
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,
    /// Nobody borrows by itself; without it, all but the first two clusters do now and then, if there are two more
    #[arg(long)]
    calm: bool,
}

impl Dev {
    pub(crate) fn run(self, now: Timestamp) -> Result<Said, Failure> {
        let runtime = tokio::runtime::Runtime::new();
        let runtime = runtime.map_err(|error| Failure::new(error, exit::OTHER))?;
        let Self { clusters, data, http_port: port, calm } = self;
        let wanted = Wanted { clusters: clusters.into(), data, port, calm };
        runtime.block_on(dev::run(wanted, now))?;
        Ok(Said::done("everything has ended\n"))
    }
}
