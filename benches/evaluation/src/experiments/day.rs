//! A day: a fleet with its own life and every kind of trouble, in simulated time, with the audit after every step.
//!
//! The ledger is a real file with real commits; only the clock is set by hand, and the network is left out.

mod asking;
mod clock;
mod life;
mod telling;

use rear_engine::audit::{Books, books};
use rear_store::verify::verify_file;
use tokio::time::Instant;

use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};
use life::Life;

/// Simulated seconds of a step: a third of the agents advertise in each.
const STEP_SECONDS: i64 = 10;

const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;

pub(super) fn clusters(_: Size) -> usize {
    1
}

#[expect(clippy::unused_async, reason = "the form that every test has")]
pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    tokio::task::block_in_place(|| simulate(stage, limits))
}

fn simulate(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let (clusters, seconds) = stage.pick((1000, SECONDS_OF_A_DAY), (40, 40 * STEP_SECONDS));
    // In a day, 35 restarts, and a clock that is set back 87 times.
    let trouble = stage.pick(
        life::Trouble { restart_every: 250, clock_set_every: 100 },
        life::Trouble { restart_every: 13, clock_set_every: 7 },
    );
    let steps = usize::try_from(seconds / STEP_SECONDS).unwrap_or(0);
    let progress = stage.progress("day", steps);
    let file = stage.new_folder("day")?.join("ledger.redb");
    let mut life = Life::begin(clusters, stage.seed(), file.clone(), trouble)?;
    let began = Instant::now();
    for step in 0..steps {
        let wrong = life.step(step)?;
        outcome.breaks(wrong.into_iter().map(|wrong| format!("step {step}: {wrong}")));
        let audited = books(&Books::of(life.view().fleet()));
        outcome.breaks(audited.into_iter().map(|violation| format!("step {step}: {violation}")));
        progress.done();
        if !outcome.broken.is_empty() {
            break;
        }
    }
    let took = began.elapsed();
    let counts = life.end();
    let findings = verify_file(&file).map_err(|error| Trouble::Other(error.to_string()))?.findings;
    outcome.breaks(findings.into_iter().map(|finding| format!("verify: {finding}")));
    let mut table = Table::new(
        &format!(
            "{} simulated minutes of {clusters} clusters in {:.0} s; an audit of all books after each of {steps} steps",
            seconds / 60,
            took.as_secs_f64()
        ),
        &["what", "how often"],
    );
    for (what, many) in &counts {
        table.row([Cell::text(*what), Cell::Count(*many)]);
        outcome.count(what, *many);
    }
    outcome.count("audits", steps);
    outcome.tables.push(table);
    outcome.note(pace(&counts, took.as_secs_f64(), steps, limits));
    Ok(outcome)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn pace(counts: &[(&str, u64)], seconds: f64, steps: usize, limits: &Limits) -> String {
    let commands: u64 = counts.iter().map(|(_, many)| many).sum();
    let syncs = seconds * 1000.0 / steps.max(1) as f64 / limits.sync_ms.max(f64::MIN_POSITIVE);
    format!(
        "{:.0} of these in a second, the audits included; a step took {:.1} ms, as long as {syncs:.1} writes to the disk.",
        commands as f64 / seconds,
        seconds * 1000.0 / steps.max(1) as f64,
    )
}
