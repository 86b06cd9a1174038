//! Expiry storm: very many reservations end in the same second, while someone else wants to be served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, EventData, EventId, ReservationRequest};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_api::moment;
use rear_engine::Dimension;
use rear_fleet::{Latencies, name};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::broker::Broker;
use crate::offer::publish_huge;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

const CALLERS: usize = 64;

/// Nobody asks any more so long before the end.
const BEFORE: Duration = Duration::from_secs(3);

/// Whatever takes longer after the end is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) fn clusters(_: Size) -> usize {
    CALLERS + 2
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let (many, lead) = stage.pick((100_000, 75), (200, 8));
    let progress = stage.progress("expiry-storm", 3);
    let broker = Broker::start(stage)?;
    let provider = broker.connect(name(0).as_str())?;
    publish_huge(&*provider, name(0).as_str()).await?;
    let end = End::in_seconds(lead);
    let made = reserve_all(stage, &broker, many, end).await?;
    progress.done();
    let (over, is_over) = watch::channel(false);
    let probing = tokio::spawn(probe(broker.connect(name(CALLERS + 1).as_str())?, end, is_over));
    let administrator = broker.administrator()?;
    let count: usize = made.values().sum();
    let ended =
        timeout(PATIENCE + Duration::from_secs(lead), follow(&administrator, count, end)).await;
    let ended = ended.map_err(|_| Trouble::Other("not all of them end".to_owned()))??;
    over.send_replace(true);
    progress.done();
    let probes = probing.await.map_err(std::io::Error::other)??;
    let shown = provider.advertisement(&name(0)).await?;
    let reserved =
        shown.and_then(|shown| shown.resources.reserved?.resources().ok()).unwrap_or_default();
    let (booked, live) =
        (reserved.get(Dimension::Cpu), probes.before.count() + probes.during.count());
    outcome.expect(booked == live, || format!("{booked} in the ledger, {live} promises live"));
    outcome.expect(ended.early == 0, || format!("{} ended before their time", ended.early));
    outcome.expect(ended.count == count, || format!("{count} were granted, {} ended", ended.count));
    outcome.breaks(broker.verify()?);
    outcome.count("granted", count);
    outcome.count("expired", ended.count);
    outcome.tables.push(table(&made, &ended, &probes, limits));
    outcome.note(format!("By the second in which they were to end: {made:?}. When an ending is told is when its event reaches an administrator."));
    Ok(outcome)
}

fn table(made: &BTreeMap<String, usize>, ended: &Ended, probes: &Probes, limits: &Limits) -> Table {
    let most = made.values().max().copied().unwrap_or(0);
    let mut table = Table::new(
        "Reservations that end together, and one caller beside them",
        &[
            "ended",
            "in the same second",
            "first told after",
            "last told after",
            "caller's p50 before",
            "p50 meanwhile",
            "p99 meanwhile",
            "max meanwhile",
            "p50 meanwhile of echo and sync",
        ],
    );
    let meanwhile = &probes.during;
    table.row([
        Cell::count(ended.count),
        Cell::count(most),
        Cell::ms(ended.first),
        Cell::ms(ended.last),
        Cell::ms(probes.before.percentile(50)),
        Cell::ms(meanwhile.percentile(50)),
        Cell::ms(meanwhile.percentile(99)),
        Cell::ms(meanwhile.max()),
        Cell::times(meanwhile.percentile(50).as_secs_f64() * 1000.0, limits.durable_answer_ms()),
    ]);
    table
}

/// The moment when everything ends.
#[derive(Debug, Clone, Copy)]
struct End {
    at: Instant,
}

impl End {
    /// Early in a second, so that what ends a little later still ends in it.
    fn in_seconds(lead: u64) -> Self {
        let now = rear_agent_sdk::now();
        let (second, lead) = (1_000_000_000, i64::try_from(lead).unwrap_or(i64::MAX));
        let start = (now.as_nanos() / second + lead) * second + second / 10;
        let wait = u64::try_from(start - now.as_nanos()).unwrap_or(0);
        Self { at: Instant::now() + Duration::from_nanos(wait) }
    }

    /// From now, as a request writes it.
    fn duration(self) -> String {
        let left = self.at.saturating_duration_since(Instant::now());
        format!("{}ms", left.as_millis())
    }
}

/// So many as can be made in time; how many by the second in which they end.
async fn reserve_all(
    stage: &Stage,
    broker: &Broker<'_>,
    many: usize,
    end: End,
) -> Result<BTreeMap<String, usize>, Trouble> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut asking = JoinSet::new();
    for number in 1..=CALLERS {
        let folder = stage.certificates(name(number).as_str());
        let caller = HttpCommunicator::one_at_a_time(&broker.address(), folder)?;
        let next = next.clone();
        asking.spawn(async move {
            let mut seconds: BTreeMap<String, usize> = BTreeMap::new();
            while next.fetch_add(1, Ordering::Relaxed) < many && Instant::now() + BEFORE < end.at {
                let duration = Some(end.duration());
                let request =
                    ReservationRequest { duration, ..rear_agent_sdk::request("1m", "1Mi") };
                let made = caller.reserve(&request, &Intent::new()).await?;
                let ends = made.status.expires_at.unwrap_or_default();
                let second = ends.split(['.', 'Z']).next().unwrap_or_default();
                let clock = second.split('T').nth(1).unwrap_or_default();
                *seconds.entry(clock.to_owned()).or_default() += 1;
            }
            Ok::<_, Error>(seconds)
        });
    }
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(asked) = asking.join_next().await {
        for (second, count) in asked.map_err(std::io::Error::other)?? {
            *made.entry(second).or_default() += count;
        }
    }
    Ok(made)
}

/// How the end came.
#[derive(Default)]
struct Ended {
    count: usize,
    /// How many ended before their time, by the broker's clock.
    early: usize,
    first: Duration,
    last: Duration,
}

/// Follows the events until all have ended.
async fn follow(broker: &HttpCommunicator, many: usize, end: End) -> Result<Ended, Trouble> {
    let mut ended = Ended::default();
    let mut after: Option<EventId> = None;
    while ended.count < many {
        let mut stream = broker.events(after).await?;
        while ended.count < many
            && let Some(event) = stream.next().await?
        {
            after = Some(event.id);
            if event.data.reason.as_deref() != Some("expired") {
                continue;
            }
            let since = end.at.elapsed();
            if ended.count == 0 {
                ended.first = since;
            }
            ended.last = since;
            ended.count += 1;
            ended.early += usize::from(is_early(&event.data));
        }
    }
    Ok(ended)
}

/// Whether a reservation ended before its time, by the broker's own clock; also if nobody can tell.
fn is_early(told: &EventData) -> bool {
    let promised = told.reservation.as_ref().and_then(|kept| kept.status.expires_at.as_deref());
    let [at, promised] = [Some(told.at.as_str()), promised].map(|text| moment::read(text?).ok());
    at.zip(promised).is_none_or(|(at, promised)| at < promised)
}

#[derive(Default)]
struct Probes {
    before: Latencies,
    during: Latencies,
}

/// Someone who reserves, one after the other, until all is over.
async fn probe(
    caller: Arc<HttpCommunicator>,
    end: End,
    over: watch::Receiver<bool>,
) -> Result<Probes, Error> {
    let mut probes = Probes::default();
    let duration = Some("1h".to_owned());
    let request = ReservationRequest { duration, ..rear_agent_sdk::request("1m", "1Mi") };
    while !*over.borrow() {
        let asked = Instant::now();
        caller.reserve(&request, &Intent::new()).await?;
        let times = if asked < end.at { &mut probes.before } else { &mut probes.during };
        times.record(asked.elapsed());
    }
    Ok(probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(at: &str, promised: Option<&str>) -> EventData {
        let end = promised.map_or(String::new(), |end| format!(r#", "expiresAt": "{end}""#));
        let body = format!(
            r#"{{"at": "{at}", "reason": "expired", "reservation": {{"id": "rsv-1", "requesterID": "a", "targetClusterID": "b",
                "requestedResources": {{"cpu": "1m", "memory": "1Mi"}}, "status": {{"phase": "Released"{end}}}}}}}"#
        );
        rear_api::body::read_answer(body.as_bytes()).unwrap()
    }

    #[test]
    fn an_end_before_its_time_is_found() {
        let promised = Some("2026-01-02T15:04:05.100Z");
        assert!(!is_early(&ended("2026-01-02T15:04:05.100Z", promised)));
        assert!(is_early(&ended("2026-01-02T15:04:05.099Z", promised)));
        assert!(is_early(&ended("2026-01-02T15:04:05.100Z", None)));
    }
}
