//! What two processes and a file use at a moment, as Linux and the broker's metrics tell.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::growth::Quantity;
use crate::broker::{metrics_at, sum_of};

/// One look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the beginning.
    pub at: u64,
    /// Which process the broker was, counted from its first start.
    pub life: u32,
    /// Reservations in the ledger, ended ones included.
    pub remembered: u64,
    /// See [`Quantity`].
    pub broker_memory: u64,
    /// See [`Quantity`].
    pub broker_descriptors: u64,
    /// See [`Quantity`].
    pub broker_threads: u64,
    /// See [`Quantity`].
    pub broker_tasks: u64,
    /// See [`Quantity`].
    pub ledger_file: u64,
    /// See [`Quantity`].
    pub agents_memory: u64,
    /// See [`Quantity`].
    pub agents_descriptors: u64,
    /// See [`Quantity`].
    pub agents_threads: u64,
}

impl Sample {
    /// One of its figures.
    #[must_use]
    pub const fn get(&self, quantity: Quantity) -> u64 {
        match quantity {
            Quantity::BrokerMemory => self.broker_memory,
            Quantity::BrokerDescriptors => self.broker_descriptors,
            Quantity::BrokerThreads => self.broker_threads,
            Quantity::BrokerTasks => self.broker_tasks,
            Quantity::LedgerFile => self.ledger_file,
            Quantity::AgentsMemory => self.agents_memory,
            Quantity::AgentsDescriptors => self.agents_descriptors,
            Quantity::AgentsThreads => self.agents_threads,
        }
    }
}

/// The broker at a moment: which process, where it tells of itself, and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) life: u32,
    pub(super) process: u32,
    pub(super) metrics: SocketAddr,
    pub(super) ledger: PathBuf,
}

impl Target {
    /// Looks at it, and at this process, in which all agents are. An error is a broker that is no longer there.
    pub(super) fn look(&self, at: u64) -> io::Result<Sample> {
        let told = metrics_at(self.metrics)?;
        let (broker, agents) = (Used::by(self.process)?, Used::by(std::process::id())?);
        Ok(Sample {
            at,
            life: self.life,
            remembered: whole(sum_of(&told, "rear_broker_reservations")),
            broker_memory: broker.memory,
            broker_descriptors: broker.descriptors,
            broker_threads: broker.threads,
            broker_tasks: whole(sum_of(&told, "rear_broker_tasks")),
            ledger_file: fs::metadata(&self.ledger)?.len(),
            agents_memory: agents.memory,
            agents_descriptors: agents.descriptors,
            agents_threads: agents.threads,
        })
    }
}

struct Used {
    memory: u64,
    descriptors: u64,
    threads: u64,
}

impl Used {
    fn by(process: u32) -> io::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let status = fs::read_to_string(folder.join("status"))?;
        let descriptors = fs::read_dir(folder.join("fd"))?.count() as u64;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        // Kilobytes, in the system's words.
        Ok(Self { memory: number("RssAnon:") * 1024, descriptors, threads: number("Threads:") })
    }
}

/// A metric that counts things.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn whole(metric: f64) -> u64 {
    metric.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something_and_a_missing_one_is_an_error() {
        let own = Used::by(std::process::id()).unwrap();
        assert!(own.memory > 0 && own.descriptors > 0 && own.threads > 0);
        assert!(Used::by(u32::MAX).is_err());
    }
}
