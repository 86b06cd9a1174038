//! Latency: from a request to its decision and to the instructions of both sides, each timed where it arrives.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, ReservationRequest, Role};
use rear_agent_sdk::{Intent, Watch};
use rear_fleet::{Fleet, Latencies, name};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::offer::publish_huge;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Agents that are only there, in the second round: as many as the earlier suite had.
fn neighbours(size: Size) -> usize {
    match size {
        Size::Full => 100,
        Size::Short => 3,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    neighbours(size) + 2
}

/// A promise that a side was told of, or that is gone.
struct Told {
    role: Role,
    id: String,
    lives: bool,
    at: Instant,
}

#[derive(Default)]
struct Times {
    decided: Latencies,
    requester: Latencies,
    provider: Latencies,
    given_back: Latencies,
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let trials = stage.pick(3000, 20);
    let idle = neighbours(stage.size());
    let progress = stage.progress("latency", 2 * trials);
    let mut table = Table::new(
        "Time from the request, in the clients",
        &[
            "agents beside them",
            "until",
            "trials",
            "p50",
            "p95",
            "p99",
            "max",
            "p50 of echo and sync",
        ],
    );
    let mut chart = Chart::lines(
        "percentiles",
        "From the request to both sides, by percentile",
        Axis::linear("percent of the trials that were faster"),
        Axis::log("ms"),
    );
    for beside in [0, idle] {
        let broker = Broker::start(stage)?;
        let fleet = (beside > 0)
            .then(|| Fleet::builder(broker.address(), stage.pki()).clusters(beside).start())
            .transpose()?;
        if let Some(fleet) = &fleet {
            fleet.advertised().await;
        }
        let times = rounds(&broker, idle, trials, &mut outcome, || progress.done()).await?;
        if let Some(fleet) = fleet {
            fleet.stop().await;
        }
        let steps = [
            ("decision", &times.decided),
            ("requester's instruction", &times.requester),
            ("provider's instruction", &times.provider),
            ("given back on both sides", &times.given_back),
        ];
        for (until, times) in steps {
            table.row(row(beside, until, times, limits));
            outcome.count(until, times.count());
        }
        for (until, times) in steps.iter().take(3).filter(|_| beside == 0) {
            chart = chart.with(until, curve(times));
        }
        outcome.breaks(broker.verify()?);
    }
    outcome.tables.push(table);
    outcome.charts.push(chart);
    outcome.note("One request at a time. `of echo and sync`: how many times an echo over TLS and one write to the disk, from the same run.");
    Ok(outcome)
}

fn row(beside: usize, until: &str, times: &Latencies, limits: &Limits) -> Vec<Cell> {
    let [p50, p95, p99] = [50, 95, 99].map(|percent| times.percentile(percent));
    let ratio = Cell::times(p50.as_secs_f64() * 1000.0, limits.durable_answer_ms());
    vec![
        Cell::count(beside),
        Cell::text(until),
        Cell::Count(times.count()),
        Cell::ms(p50),
        Cell::ms(p95),
        Cell::ms(p99),
        Cell::ms(times.max()),
        ratio,
    ]
}

pub(super) fn curve(times: &Latencies) -> Vec<(f64, f64)> {
    let percents = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100_u8];
    let at =
        |percent: u8| (f64::from(percent), times.percentile(percent.into()).as_secs_f64() * 1000.0);
    percents.map(at).to_vec()
}

/// One request after the other, each until both sides have been told of it and of its end.
async fn rounds(
    broker: &Broker<'_>,
    first_name: usize,
    trials: usize,
    outcome: &mut Outcome,
    done: impl Fn(),
) -> Result<Times, Trouble> {
    let [provider, requester] = [first_name, first_name + 1].map(|number| name(number).to_string());
    let (as_provider, as_requester) = (broker.connect(&provider)?, broker.connect(&requester)?);
    publish_huge(&*as_provider, &provider).await?;
    let (tell, mut told) = unbounded_channel();
    let mut following = JoinSet::new();
    following.spawn(follow(as_provider, Role::Provider, tell.clone()));
    following.spawn(follow(as_requester.clone(), Role::Requester, tell));
    let mut times = Times::default();
    let target_cluster_id = Some(provider.clone());
    let request = ReservationRequest { target_cluster_id, ..rear_agent_sdk::request("1m", "1Mi") };
    for _ in 0..trials {
        let asked = Instant::now();
        let made = as_requester.reserve(&request, &Intent::new()).await?;
        times.decided.record(asked.elapsed());
        for (role, at) in both(&mut told, &made.id, true).await? {
            match role {
                Role::Requester => times.requester.record(at.saturating_duration_since(asked)),
                Role::Provider => times.provider.record(at.saturating_duration_since(asked)),
            }
        }
        let released = Instant::now();
        as_requester.release(&made.id).await?;
        let last = both(&mut told, &made.id, false).await?.into_iter().map(|(_, at)| at).max();
        times
            .given_back
            .record(last.map_or(Duration::ZERO, |at| at.saturating_duration_since(released)));
        outcome.expect(made.target_cluster_id == provider, || format!("{} is elsewhere", made.id));
        done();
    }
    Ok(times)
}

/// Until both sides were told of this.
async fn both(
    told: &mut UnboundedReceiver<Told>,
    id: &str,
    lives: bool,
) -> Result<Vec<(Role, Instant)>, Trouble> {
    let mut seen: Vec<(Role, Instant)> = Vec::new();
    while seen.len() < 2 {
        let next = timeout(PATIENCE, told.recv()).await.ok().flatten();
        let Some(next) = next else {
            return Err(Trouble::Other(format!(
                "{id}: only {} of two sides were told",
                seen.len()
            )));
        };
        if next.id == id && next.lives == lives && seen.iter().all(|(role, _)| *role != next.role) {
            seen.push((next.role, next.at));
        }
    }
    Ok(seen)
}

/// Tells what is new in each level, when it has arrived.
async fn follow(
    broker: Arc<dyn BrokerCommunicator>,
    role: Role,
    tell: UnboundedSender<Told>,
) -> Result<(), rear_agent_sdk::Error> {
    let mut watch = Watch::new(broker, role);
    let mut known = BTreeSet::new();
    loop {
        let level = watch.next().await?;
        let at = Instant::now();
        let now: BTreeSet<String> =
            level.instructions.into_iter().map(|promise| promise.id).collect();
        let changed = now.symmetric_difference(&known);
        for id in changed {
            let lives = now.contains(id);
            // Nobody listens any more at the end.
            drop(tell.send(Told { role, id: id.clone(), lives, at }));
        }
        known = now;
    }
}
