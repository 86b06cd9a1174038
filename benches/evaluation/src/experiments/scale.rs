//! Scale: what the broker costs while more and more agents are connected, advertise every 30 s and wait for news.

use std::time::Duration;

use futures::future::try_join_all;
use rear_fleet::{Cost, Fleet, Operation};
use tokio::time::sleep;

use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::checks::{Connected, connected};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// The earlier suite's steps, and on. Those in one row are measured at the same time, each with a broker of its own: all
/// of them together leave the machine nearly idle.
const AGENTS: [&[usize]; 5] =
    [&[1, 2, 5, 10, 15, 20, 25, 30], &[40, 50, 60, 70], &[80, 90, 100], &[1000], &[10_000]];
const FEW_AGENTS: [&[usize]; 1] = [&[1, 10]];

fn steps(size: Size) -> &'static [&'static [usize]] {
    match size {
        Size::Full => &AGENTS,
        Size::Short => &FEW_AGENTS,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    steps(size).iter().flat_map(|together| *together).max().copied().unwrap_or(0)
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    // Every agent advertises once within it.
    let span = stage.pick(Duration::from_secs(30), Duration::from_secs(1));
    let steps = steps(stage.size());
    let progress = stage.progress("scale", steps.len());
    let mut table = Table::new(
        "The broker's process while agents of the SDK are connected",
        &[
            "agents",
            "connections",
            "advertisements",
            "processor, of a core",
            "processor for each advertisement, of an echo's",
            "memory",
            "of it its own",
            "memory for each agent",
        ],
    );
    let mut alone = None;
    let (mut cpus, mut memories) = (Vec::new(), Vec::new());
    for together in steps {
        progress.at(format!("{together:?} agents"));
        let seen = together.iter().map(|agents| measure(stage, *agents, span));
        for (agents, seen) in together.iter().zip(try_join_all(seen).await?) {
            let base = *alone.get_or_insert(seen.cost.resident);
            table.row(seen.row(*agents, base, limits));
            let x = f64::from(u32::try_from(*agents).unwrap_or(u32::MAX));
            cpus.push((x, seen.percent()));
            #[expect(clippy::cast_precision_loss, reason = "a size for people")]
            memories.push((x, seen.cost.resident as f64 / 1e6));
            outcome.count("agents", *agents);
            outcome.count("advertisements", seen.advertised);
            outcome.breaks(seen.broken);
        }
        progress.done();
    }
    let agents = || Axis::log("agents");
    let cpu = Chart::lines(
        "processor",
        "Processor time of the broker",
        agents(),
        Axis::log("% of a core"),
    );
    let memory = Chart::lines("memory", "Memory of the broker", agents(), Axis::log("MB"));
    outcome.charts.push(cpu.with("broker", cpus));
    outcome.charts.push(memory.with("broker", memories));
    outcome.tables.push(table);
    outcome.note("Each row has a new broker and new agents, which are whole ones: a certificate, a connection and two questions that wait for news each. Measured after all had advertised. Up to 30 agents, 40 to 70 and 80 to 100 are measured at the same time, with a broker each.");
    Ok(outcome)
}

/// What was seen of one step.
struct Seen {
    cost: Cost,
    connections: u64,
    /// In all.
    advertised: u64,
    /// While it was watched.
    advertisements: u64,
    broken: Vec<String>,
}

async fn measure(stage: &Stage, agents: usize, span: Duration) -> Result<Seen, Trouble> {
    let broker = Broker::start(stage)?;
    let fleet = Fleet::builder(broker.address(), stage.pki())
        .clusters(agents)
        .seed(stage.seed())
        .start()?;
    fleet.advertised().await;
    // What starting costs is another test.
    sleep(stage.pick(Duration::from_secs(2), Duration::ZERO)).await;
    let before = fleet.report().count(Operation::Publish);
    let cost = Cost::watch(broker.id(), span).await?;
    let connections = broker.count("rear_broker_connections")?;
    let report = fleet.stop().await;
    let advertised = report.count(Operation::Publish);
    let mut wrong = connected(&Connected { agents, connections, advertised: before, report });
    wrong.extend(broker.verify()?);
    let advertisements = advertised - before;
    Ok(Seen { cost, connections, advertised, advertisements, broken: wrong })
}

impl Seen {
    fn percent(&self) -> f64 {
        100.0 * self.cost.cpu.as_secs_f64() / self.cost.span.as_secs_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn row(&self, agents: usize, alone: u64, limits: &Limits) -> Vec<Cell> {
        let each = self.cost.cpu.as_secs_f64() * 1000.0 / (self.advertisements as f64).max(1.0);
        let more = self.cost.resident.saturating_sub(alone);
        let per_agent = more / u64::try_from(agents).unwrap_or(1).max(1);
        vec![
            Cell::count(agents),
            Cell::Count(self.connections),
            Cell::Count(self.advertisements),
            Cell::Percent(self.percent()),
            if self.advertisements > 0 {
                Cell::times(each, limits.echo_cpu_ms)
            } else {
                Cell::Nothing
            },
            Cell::Bytes(self.cost.resident),
            Cell::Bytes(self.cost.anonymous),
            if agents >= 100 { Cell::Bytes(per_agent) } else { Cell::Nothing },
        ]
    }
}
