//! Clients that do what agents of the earlier system do: each on one connection that is kept, it looks at its
//! advertisement and sends it anew every 30 s, and asks for its instructions every 5 s.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, Role};
use rear_agent_sdk::{Error, HttpCommunicator};
use rear_engine::ClusterId;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::names::name;
use crate::statement::statement;

/// How often such an agent asks for its instructions.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// Polls from one advertisement to the next: 30 s.
const POLLS_TO_AN_ADVERTISEMENT: u64 = 6;

/// What each of them has.
const CPU: &str = "16";
const MEMORY: &str = "64Gi";

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Polling {
    /// Where the broker is, as `https://HOST:PORT`.
    pub address: String,
    /// The certificates: those of [`name`]`(0)` and so on.
    pub certificates: PathBuf,
    /// How many agents.
    pub clusters: usize,
    /// For how long.
    pub span: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PollingReport {
    /// How often instructions were asked for and given.
    pub polls: u64,
    /// How often an advertisement was sent and taken.
    pub advertisements: u64,
    /// What was not answered as such an agent needs it, by reason.
    pub failed: BTreeMap<String, u64>,
}

impl Polling {
    /// Goes on for as long as it should; the agents do not all come at the same moment.
    pub async fn run(self) -> Result<PollingReport, Error> {
        let begin = Instant::now();
        let end = begin + self.span;
        let mut agents = JoinSet::new();
        for number in 0..self.clusters {
            let cluster = name(number);
            let folder = self.certificates.join(cluster.as_str());
            let broker = HttpCommunicator::one_at_a_time(&self.address, folder)?;
            let share = f64::from(u32::try_from(number).unwrap_or(u32::MAX));
            let all = f64::from(u32::try_from(self.clusters.max(1)).unwrap_or(u32::MAX));
            let first = begin + POLL_EVERY.mul_f64(share / all);
            agents.spawn(poll_until(broker, cluster, first, end));
        }
        let mut report = PollingReport::default();
        while let Some(one) = agents.join_next().await {
            report.add(one.unwrap_or_default());
        }
        Ok(report)
    }
}

async fn poll_until(
    broker: HttpCommunicator,
    cluster: ClusterId,
    first: Instant,
    end: Instant,
) -> PollingReport {
    let mut report = PollingReport::default();
    let mut ticks = interval_at(first, POLL_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0_u64.. {
        if ticks.tick().await >= end {
            break;
        }
        if number.is_multiple_of(POLLS_TO_AN_ADVERTISEMENT) {
            let told = advertise(&broker, &cluster).await;
            report.count(told, |report| &mut report.advertisements);
        }
        let polled = broker.instructions(Role::Provider, None).await;
        report.count(polled.map(drop), |report| &mut report.polls);
    }
    report
}

/// Looks first: agents of the earlier system copy back what the broker has reserved on them.
async fn advertise(broker: &HttpCommunicator, cluster: &ClusterId) -> Result<(), Error> {
    let shown = broker.advertisement(cluster).await?;
    let mut told = statement(cluster, CPU, MEMORY);
    told.resources.reserved = shown.and_then(|shown| shown.resources.reserved);
    broker.publish(&told).await.map(drop)
}

impl PollingReport {
    /// Whether everything was answered as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.failed.is_empty()
    }

    fn count(&mut self, outcome: Result<(), Error>, done: impl Fn(&mut Self) -> &mut u64) {
        match outcome {
            Ok(()) => *done(self) += 1,
            Err(error) => *self.failed.entry(error.to_string()).or_default() += 1,
        }
    }

    fn add(&mut self, other: Self) {
        self.polls += other.polls;
        self.advertisements += other.advertisements;
        for (why, count) in other.failed {
            *self.failed.entry(why).or_default() += count;
        }
    }
}

impl fmt::Display for PollingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "polled      {:>9} times", self.polls)?;
        writeln!(f, "advertised  {:>9} times", self.advertisements)?;
        for (why, count) in &self.failed {
            writeln!(f, "failed      {count:>9} times  {why}")?;
        }
        Ok(())
    }
}
