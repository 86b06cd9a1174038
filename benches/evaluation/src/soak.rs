//! The soak: a fleet that lives for half an hour or longer with a broker that is killed, stopped, moved to another disk from a
//! backup, and given new certificates, with an audit after each of these; and nothing may grow.
//!
//! `cargo xtask soak` runs it; `docs/evaluation/soak.md` has what came of it, and how to read it.

mod act;
mod growth;
mod page;
mod plan;
mod sample;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rear_agent_sdk::Schedule;
use rear_api::moment;
use rear_engine::Timestamp;
use rear_fleet::{Fleet, Operation, Report, name};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::broker::Broker;
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::stage::{ADMINISTRATOR, Programs, Size, Stage, Trouble};
use act::Soaked;
use sample::Target;

pub use growth::{Level, Quantity, levels, longest_life};
pub use page::{KeepError, keep};
pub use sample::Sample;

/// How often it is looked what the processes use.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Whatever takes longer is stuck, also on a machine that has other things to do for minutes.
const PATIENCE: Duration = Duration::from_mins(15);

/// Events that the broker keeps: few, so that their number is the same soon after the beginning.
const EVENTS_KEPT: &str = "2000";

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Soak {
    /// For how long; a minute at most in a short one, which does one of each.
    pub length: Duration,
    /// The same seed makes the same clusters, wishes and faults; when they meet is up to the machine.
    pub seed: u64,
    /// As little as shows that it works.
    pub size: Size,
    /// The programs.
    pub programs: Programs,
    /// On which disk.
    pub work: PathBuf,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The seed.
    pub seed: u64,
    /// When it began (RFC 3339).
    pub at: String,
    /// How long it took.
    pub seconds: u64,
    /// Where.
    pub machine: Machine,
    /// Clusters in the fleet.
    pub clusters: usize,
    /// What happened how often, and what must not be.
    pub outcome: Outcome,
    /// How everything stood that must not grow; empty if it was too short to tell.
    pub levels: Vec<Level>,
    /// What was seen on the way.
    pub samples: Vec<Sample>,
}

impl Soak {
    fn pick<T>(&self, full: T, short: T) -> T {
        match self.size {
            Size::Full => full,
            Size::Short => short,
        }
    }

    /// Does all of it.
    pub async fn run(&self) -> Result<Record, Trouble> {
        let clusters = self.pick(24, 6);
        let stage = Stage::new(self.size, self.seed, self.programs.clone(), &self.work, 0)?;
        let authority = rear_fleet::Authority::new()?;
        act::rotate(&authority, &stage.pki(), clusters)?;
        let machine = Machine::here(stage.folder());
        let second = Timestamp::from_seconds(rear_agent_sdk::now().as_nanos() / 1_000_000_000);
        let began = Instant::now();
        let broker = Broker::start_with(&stage, &["--events-kept", EVENTS_KEPT])?;
        let fleet = self.fleet(&broker, &stage, clusters)?;
        let looking = Looking::begin(began);
        let mut soaked = Soaked::new(broker, fleet, authority, clusters, looking.target.clone());
        let outcome = self.soak(&mut soaked).await;
        let samples = looking.end();
        let mut outcome = match outcome {
            Ok(()) => soaked.settle(PATIENCE).await?,
            Err(trouble) => return Err(trouble),
        };
        let levels = self.judge(&samples, &mut outcome);
        Ok(Record {
            seed: self.seed,
            at: moment::text(second),
            seconds: began.elapsed().as_secs(),
            machine,
            clusters,
            outcome,
            levels,
            samples,
        })
    }

    /// Everything at once: clusters whose load changes, wishes in bursts, most of them given back and some left to expire, agents
    /// that crash, answers that are lost.
    fn fleet(&self, broker: &Broker<'_>, stage: &Stage, clusters: usize) -> Result<Fleet, Trouble> {
        let plan = Fleet::builder(broker.address(), stage.pki())
            .clusters(clusters)
            .seed(self.seed)
            .schedule(Schedule::jittered(Duration::from_secs(5)))
            .churn(Duration::from_secs(10))
            .bursts(4, self.pick(Duration::from_millis(800), Duration::from_millis(150)))
            .lasting(self.pick(Duration::from_secs(12), Duration::from_secs(2)))
            .crashes(self.pick(Duration::from_mins(2), Duration::from_secs(10)))
            .lost_answers(3);
        Ok(plan.start()?)
    }

    async fn soak(&self, soaked: &mut Soaked<'_>) -> Result<(), Trouble> {
        soaked.begin().await?;
        let steps = self.pick(plan::plan(self.seed, self.length), plan::short_plan());
        for (number, (pause, happening)) in (1..).zip(&steps) {
            sleep(*pause).await;
            soaked.more_is_granted(PATIENCE).await?;
            crate::child::say(&format!("{number} of {}: {happening:?}", steps.len()))?;
            soaked.happen(*happening).await?;
            if soaked.is_broken() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn judge(&self, samples: &[Sample], outcome: &mut Outcome) -> Vec<Level> {
        if self.size == Size::Short {
            return Vec::new();
        }
        let mut all = levels(longest_life(samples), &Quantity::BROKERS);
        all.extend(levels(samples, &Quantity::AGENTS));
        outcome.expect(all.len() == 8, || "too few samples to tell whether anything grows".into());
        for level in all.iter().filter(|level| level.has_grown()) {
            let Level { quantity, early, late, allowed } = level;
            let name = quantity.name();
            outcome.breaks([format!("{name} grew from {early} to {late}, beyond {allowed}")]);
        }
        all
    }
}

/// Looks at the processes as long as it is there.
struct Looking {
    target: Arc<Mutex<Option<Target>>>,
    samples: Arc<Mutex<Vec<Sample>>>,
    task: JoinHandle<()>,
}

impl Looking {
    fn begin(began: Instant) -> Self {
        let target: Arc<Mutex<Option<Target>>> = Arc::default();
        let samples: Arc<Mutex<Vec<Sample>>> = Arc::default();
        let (of, into) = (target.clone(), samples.clone());
        let task = tokio::spawn(async move {
            loop {
                sleep(LOOK_EVERY).await;
                let target = of.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some(target) = target else { continue };
                let at = began.elapsed().as_secs();
                let look = tokio::task::spawn_blocking(move || target.look(at)).await;
                // A broker that is being killed cannot be looked at.
                if let Ok(Ok(sample)) = look {
                    into.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
                }
            }
        });
        Self { target, samples, task }
    }

    fn end(self) -> Vec<Sample> {
        self.task.abort();
        std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a fleet has seen, as counts; what was broken, as sentences.
fn told_by(report: &Report, outcome: &mut Outcome) {
    outcome.count("granted", report.count(Operation::Reserve));
    outcome.count("released", report.count(Operation::Release));
    outcome.count("activated", report.count(Operation::Activate));
    outcome.count("advertisements", report.count(Operation::Publish));
    outcome.count("agents crashed", report.crashes);
    outcome.count("answers lost on purpose", report.lost_answers);
    outcome.count("refused", report.refused.values().sum::<u64>());
    outcome.breaks(report.broken.iter().map(ToString::to_string));
}

/// The names of all who have certificates.
fn names(clusters: usize) -> impl Iterator<Item = rear_engine::ClusterId> {
    (0..clusters).map(name).chain(ADMINISTRATOR.parse().ok())
}

/// The file of a ledger.
fn ledger_in(data: &Path) -> PathBuf {
    data.join("ledger.redb")
}
