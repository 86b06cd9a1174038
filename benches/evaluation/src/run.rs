//! Tests one after the other: each measured, told, and kept before the next begins.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use rear_agent_sdk::Chain;
use rear_api::moment;
use rear_engine::Timestamp;
use tokio::time::Instant;

use crate::experiments::Experiment;
use crate::machine::Machine;
use crate::outcome::{Record, Results};
use crate::raw::Limits;
use crate::stage::{Programs, Size, Stage, Trouble};

/// What is to be evaluated.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which tests, in this order.
    pub experiments: Vec<&'static Experiment>,
    /// How much of each.
    pub size: Size,
    /// The same seed makes the same fleets and wishes.
    pub seed: u64,
    /// What is evaluated.
    pub programs: Programs,
    /// On which disk.
    pub work: PathBuf,
    /// Whether someone looks.
    pub bars: bool,
}

/// Runs all of it; how many tests found something broken, or could not be done although this machine has what they need.
pub async fn evaluate(plan: &Plan, results: &Results) -> Result<usize, Box<dyn Error>> {
    open_many_files()?;
    let clusters = plan.experiments.iter().map(|experiment| (experiment.clusters)(plan.size));
    let clusters = clusters.max().unwrap_or(0).max(1);
    let Plan { size, seed, programs, .. } = plan;
    let stage =
        Stage::new(*size, *seed, programs.clone(), &plan.work, clusters)?.with_bars(plan.bars);
    let limits = Limits::measure(&stage).await?;
    say(&limits.in_words());
    let mut bad = 0;
    for experiment in &plan.experiments {
        match record(experiment, &stage, limits).await {
            Ok(record) => {
                results.keep(&record)?;
                bad += usize::from(!record.outcome.broken.is_empty());
                tell(&record);
            }
            Err(Trouble::Missing(what)) => say(&format!("{}: not here: {what}", experiment.name)),
            Err(error) => {
                say(&format!("{}: could not be done: {}", experiment.name, Chain(&error)));
                bad += 1;
            }
        }
    }
    Ok(bad)
}

/// One test, with what it was measured on.
pub async fn record(
    experiment: &Experiment,
    stage: &Stage,
    limits: Limits,
) -> Result<Record, Trouble> {
    let machine = Machine::here(stage.folder());
    let second = Timestamp::from_seconds(rear_agent_sdk::now().as_nanos() / 1_000_000_000);
    let (at, began) = (moment::text(second), Instant::now());
    let outcome = (experiment.run)(stage, &limits).await?;
    Ok(Record {
        test: experiment.name.to_owned(),
        short: stage.size() == Size::Short,
        seed: stage.seed(),
        at,
        seconds: began.elapsed().as_secs_f64(),
        machine,
        limits,
        outcome,
    })
}

fn tell(record: &Record) {
    say(&format!("\n{} ({:.0} s)", record.test, record.seconds));
    for table in &record.outcome.tables {
        say(&format!("\n{}\n\n{}", table.title, table.markdown()));
    }
    record.outcome.notes.iter().for_each(|note| say(note));
    record.outcome.broken.iter().for_each(|broken| say(&format!("BROKEN: {broken}")));
}

fn say(line: &str) {
    // A reader that has seen enough is no error.
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// Ten thousand agents have a connection each: as many files as this process may have.
fn open_many_files() -> std::io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
