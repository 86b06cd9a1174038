//! Bandwidth: the bytes between an agent and the broker, counted by a proxy between them.

use std::time::Duration;

use rear_fleet::{Builder, Fleet, Operation};
use tokio::time::{Instant, sleep};

use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::checks::{gave_up, passed};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};
use crate::wire::{Counted, Passed};

/// Agents of each kind: the mean of several is steadier than one.
const AGENTS: usize = 10;

/// The load of each busy cluster changes about so often.
const CHURN: Duration = Duration::from_secs(5);

pub(super) fn clusters(_: Size) -> usize {
    AGENTS
}

/// What agents do meanwhile.
#[derive(Debug, Clone, Copy)]
enum Life {
    Idle,
    Churn,
    Lending,
}

impl Life {
    const ALL: [Self; 3] = [Self::Idle, Self::Churn, Self::Lending];

    fn in_words(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Churn => "own load changes every 5 s",
            Self::Lending => "the same, and a reservation every second",
        }
    }

    fn plan(self, plan: Builder) -> Builder {
        match self {
            Self::Idle => plan,
            Self::Churn => plan.churn(CHURN),
            Self::Lending => plan.churn(CHURN).bursts(1, Duration::from_secs(1)),
        }
    }
}

pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let span = stage.pick(Duration::from_mins(5), Duration::from_secs(3));
    let progress = stage.progress("bandwidth", 1);
    progress.at("five minutes");
    let mut table = Table::new(
        &format!("For each agent, the mean of {AGENTS}, over {} s", span.as_secs()),
        &[
            "agents",
            "start-up, up",
            "start-up, down",
            "up",
            "down",
            "a minute",
            "advertisements",
            "for each advertisement",
        ],
    );
    // At the same time, each with a broker of its own.
    let (idle, churn, lending) = tokio::join!(
        watch(stage, Life::Idle, span),
        watch(stage, Life::Churn, span),
        watch(stage, Life::Lending, span)
    );
    let mut rates = Vec::new();
    for (life, seen) in Life::ALL.into_iter().zip([idle, churn, lending]) {
        let seen = seen?;
        let broken = passed(seen.start, seen.later);
        let broken = broken.iter().chain(&seen.broken);
        outcome.breaks(broken.map(|broken| format!("{life:?}: {broken}")));
        outcome.count("advertisements", seen.advertisements);
        outcome.count("connections", seen.start.connections);
        rates.push(seen.per_minute(span));
        table.row(seen.row(life, span));
    }
    progress.done();
    let names = ["idle", "churn", "churn and lending"];
    let chart =
        Chart::bars("rate", "Bytes of an agent in a minute, both ways", &names, Axis::linear("kB"));
    outcome.charts.push(chart.with_bars("agent", rates.iter().map(|rate| rate / 1000.0)));
    outcome.tables.push(table);
    outcome.note("What TCP carries: TLS and all above it, without the heads of packets (about 52 bytes each).");
    Ok(outcome)
}

/// What was seen of some agents.
struct Seen {
    /// Until all had advertised.
    start: Passed,
    /// In the end.
    later: Passed,
    advertisements: u64,
    broken: Vec<String>,
}

async fn watch(stage: &Stage, life: Life, span: Duration) -> Result<Seen, Trouble> {
    let broker = Broker::start(stage)?;
    let proxy = Counted::before(broker.socket()).await?;
    let plan = Fleet::builder(&proxy.address, stage.pki()).clusters(AGENTS).seed(stage.seed());
    let mut fleet = life.plan(plan).start()?;
    fleet.advertised().await;
    let (start, advertised) = (proxy.passed(), fleet.report().count(Operation::Publish));
    let end = Instant::now() + span;
    sleep(end - Instant::now()).await;
    let later = proxy.passed();
    let advertisements = fleet.report().count(Operation::Publish) - advertised;
    let report = fleet.settle(Duration::from_mins(1)).await;
    fleet.stop().await;
    let mut wrong = gave_up(&report);
    wrong.extend(broker.verify()?);
    Ok(Seen { start, later, advertisements, broken: wrong })
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
impl Seen {
    fn per_minute(&self, span: Duration) -> f64 {
        let bytes = self.later.up + self.later.down - self.start.up - self.start.down;
        bytes as f64 / AGENTS as f64 / span.as_secs_f64() * 60.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "figures for people"
    )]
    fn row(&self, life: Life, span: Duration) -> Vec<Cell> {
        let agents = AGENTS as u64;
        let (up, down) = (self.later.up - self.start.up, self.later.down - self.start.down);
        let of_each =
            (up + down).checked_div(self.advertisements).map_or(Cell::Nothing, Cell::Bytes);
        vec![
            Cell::text(life.in_words()),
            Cell::Bytes(self.start.up / agents),
            Cell::Bytes(self.start.down / agents),
            Cell::Bytes(up / agents),
            Cell::Bytes(down / agents),
            Cell::Bytes(self.per_minute(span) as u64),
            Cell::Count(self.advertisements / agents),
            of_each,
        ]
    }
}
