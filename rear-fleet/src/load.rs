//! Callers that ask as fast as they are answered, each on one connection that is kept, for a little of one huge cluster.
//!
//! Whoever is refused is refused falsely: there is room for all. What was granted must be on the broker's books in the
//! end, once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, ReservationRequest};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_engine::Dimension;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::latency::Latencies;
use crate::names::name;
use crate::statement::statement;

/// What each caller asks for.
const CPU: &str = "1m";
const MEMORY: &str = "1Mi";

/// A billion requests: more than anyone waits for.
const HUGE_CPU: &str = "1M";
const HUGE_MEMORY: &str = "1Pi";

/// Brokers that share a ledger know of each other's grants after milliseconds.
const CATCH_UP: Duration = Duration::from_secs(5);

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where the broker is, as `https://HOST:PORT`; several that share a ledger with commas between. Each caller prefers
    /// the one after its neighbour's.
    pub address: String,
    /// The certificates: [`name`]`(0)` is the huge cluster, those after it are the callers.
    pub certificates: PathBuf,
    /// How many ask at once.
    pub callers: usize,
    /// For how long.
    pub span: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadReport {
    /// How long grants took.
    pub latencies: Latencies,
    /// How long it went on.
    pub took: Duration,
    /// Requests without a grant, by reason.
    pub refused: BTreeMap<String, u64>,
    /// By how much the broker's ledger for the huge cluster has grown, in requests.
    pub booked: u64,
}

impl Load {
    /// Asks for as long as it should.
    pub async fn run(self) -> Result<LoadReport, Error> {
        let provider = self.communicator(0)?;
        publish_huge(&provider).await?;
        let before = booked(&provider).await?;
        let mut callers = Vec::new();
        for number in 1..=self.callers {
            let caller = self.communicator(number)?;
            caller.ping().await?;
            callers.push(caller);
        }
        let start = Instant::now();
        let end = start + self.span;
        let mut asking: JoinSet<_> =
            callers.into_iter().map(|caller| ask_until(caller, end)).collect();
        let mut report = LoadReport::default();
        while let Some(one) = asking.join_next().await {
            report.add(&one.unwrap_or_default());
        }
        report.took = start.elapsed();
        report.booked = booked_in_the_end(&provider, before, report.latencies.count()).await?;
        Ok(report)
    }

    fn communicator(&self, number: usize) -> Result<HttpCommunicator, Error> {
        let address = rotated(&self.address, number);
        HttpCommunicator::one_at_a_time(&address, self.certificates.join(name(number).as_str()))
    }
}

/// A list with commas, begun at another place.
fn rotated(list: &str, by: usize) -> String {
    let mut items: Vec<&str> = list.split(',').collect();
    let many = items.len();
    items.rotate_left(by % many);
    items.join(",")
}

async fn ask_until(caller: HttpCommunicator, end: Instant) -> LoadReport {
    let mut report = LoadReport::default();
    let hour = Some("1h".to_owned());
    let request = ReservationRequest { duration: hour, ..rear_agent_sdk::request(CPU, MEMORY) };
    while Instant::now() < end {
        let start = Instant::now();
        match caller.reserve(&request, &Intent::new()).await {
            Ok(_) => report.latencies.record(start.elapsed()),
            Err(error) => *report.refused.entry(error.to_string()).or_default() += 1,
        }
    }
    report
}

async fn publish_huge(provider: &HttpCommunicator) -> Result<(), Error> {
    let told = statement(&name(0), HUGE_CPU, HUGE_MEMORY);
    provider.publish(&told).await.map(drop)
}

/// By how much the books have grown. One of several brokers may hear of the last grants of the others a moment later.
async fn booked_in_the_end(
    provider: &HttpCommunicator,
    before: u64,
    granted: u64,
) -> Result<u64, Error> {
    let late = Instant::now() + CATCH_UP;
    loop {
        let grown = booked(provider).await?.saturating_sub(before);
        if grown >= granted || Instant::now() > late {
            return Ok(grown);
        }
        sleep(CATCH_UP / 100).await;
    }
}

/// What is reserved on the huge cluster, in requests of a thousandth of a core.
async fn booked(provider: &HttpCommunicator) -> Result<u64, Error> {
    let shown = provider.advertisement(&name(0)).await?;
    let reserved = shown.and_then(|shown| shown.resources.reserved?.resources().ok());
    Ok(reserved.unwrap_or_default().get(Dimension::Cpu))
}

impl LoadReport {
    /// How many were granted in a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let granted = self.latencies.count() as f64;
        granted / self.took.as_secs_f64().max(f64::EPSILON)
    }

    /// Whether everyone got what they asked for, and the books say so.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refused.is_empty() && self.booked == self.latencies.count()
    }

    fn add(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        for (why, count) in &other.refused {
            *self.refused.entry(why.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "reserve  {}", self.latencies)?;
        writeln!(f, "granted  {:>9.0} a second", self.per_second())?;
        for (why, count) in &self.refused {
            writeln!(f, "refused  {count:>9} times  {why}")?;
        }
        writeln!(f, "booked   {:>9}, granted {}", self.booked, self.latencies.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_prefers_another_broker_and_knows_all() {
        let seen: Vec<_> = (0..4).map(|number| rotated("a,b,c", number)).collect();
        assert_eq!(seen, ["a,b,c", "b,c,a", "c,a,b", "a,b,c"]);
        assert_eq!(rotated("a", 7), "a");
    }
}
