//! Reconnect storm: the broker is gone and back, and all agents come back to it at once.

use std::time::Duration;

use rear_agent_sdk::communicator::BrokerCommunicator;
use rear_fleet::{Cost, Fleet, name};
use tokio::time::{Instant, sleep};

use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::checks::came_back;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// How often it is looked how many are back: short against the seconds that it takes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(5);

fn agents(size: Size) -> usize {
    match size {
        Size::Full => 10_000,
        Size::Short => 20,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    agents(size)
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let agents = agents(stage.size());
    let progress = stage.progress("reconnect-storm", 3);
    let mut broker = Broker::start(stage)?;
    let began = Instant::now();
    let fleet = Fleet::builder(broker.address(), stage.pki())
        .clusters(agents)
        .seed(stage.seed())
        .start()?;
    fleet.advertised().await;
    let first = began.elapsed();
    progress.done();
    broker.kill()?;
    tokio::task::block_in_place(|| broker.restart())?;
    let back = Instant::now();
    let before = Cost::processor_time(broker.id())?;
    let curve = until_all_are_back(&broker, agents, back).await?;
    let all = back.elapsed();
    let used = Cost::processor_time(broker.id())?.saturating_sub(before);
    progress.done();
    let refused = broker.count("rear_broker_connections_refused_total")?;
    let failed = broker.count("rear_broker_handshakes_failed_total")?;
    let answers = broker.connect(name(0).as_str())?.ping().await.is_ok();
    let report = fleet.stop().await;
    outcome.breaks(came_back(refused, answers, &report));
    outcome.breaks(broker.verify()?);
    outcome.count("agents", agents);
    outcome.tables.push(table(agents, first, &curve, all, used, failed, limits));
    let chart = Chart::lines(
        "back",
        "Connections after the broker is back",
        Axis::linear("s"),
        Axis::linear("connections"),
    );
    outcome.charts.push(chart.with("agents", curve));
    outcome.note("Agents pause before they come back, longer each time and each for another time, so that not all shake hands at once.");
    Ok(outcome)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn table(
    agents: usize,
    first: Duration,
    curve: &[(f64, f64)],
    all: Duration,
    used: Duration,
    failed: u64,
    limits: &Limits,
) -> Table {
    let half = agents as f64 / 2.0;
    let half = curve.iter().find(|(_, connected)| *connected >= half).map_or(0.0, |(at, _)| *at);
    let each = used.as_secs_f64() * 1000.0 / agents as f64;
    let mut table = Table::new(
        "All agents lose the broker, which is back at once",
        &[
            "agents",
            "first start of all",
            "half of them are back after",
            "all after",
            "processor for each",
            "of an echo's",
            "handshakes that failed",
        ],
    );
    table.row([
        Cell::count(agents),
        Cell::Seconds(first.as_secs_f64()),
        Cell::Seconds(half),
        Cell::Seconds(all.as_secs_f64()),
        Cell::Ms(each),
        Cell::times(each, limits.echo_cpu_ms),
        Cell::Count(failed),
    ]);
    table
}

/// How many were connected when.
async fn until_all_are_back(
    broker: &Broker<'_>,
    agents: usize,
    back: Instant,
) -> Result<Vec<(f64, f64)>, Trouble> {
    let wanted = f64::from(u32::try_from(agents).unwrap_or(u32::MAX));
    let mut curve = vec![(0.0, 0.0)];
    loop {
        let connected = broker.metric("rear_broker_connections")?;
        let at = back.elapsed();
        // A point for each change that can be seen.
        let (_, before) = curve[curve.len() - 1];
        if connected - before >= wanted / 100.0 || connected >= wanted {
            curve.push((at.as_secs_f64(), connected));
        }
        if connected >= wanted {
            return Ok(curve);
        }
        if at > PATIENCE {
            return Err(Trouble::Other(format!(
                "{connected} of {agents} agents are back after {at:?}"
            )));
        }
        sleep(LOOK_EVERY).await;
    }
}
