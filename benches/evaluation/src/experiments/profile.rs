//! A profile: where the broker's processor time goes while 64 callers reserve, by samples of `perf`.

mod samples;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rear_fleet::Load;

use self::samples::{by_layer, parse};
use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::child::Child;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

const CALLERS: usize = 64;

/// Samples in a second: not a divisor of what else happens at regular times.
const FREQUENCY: &str = "997";

/// Functions that are named.
const NAMED: usize = 25;

pub(super) fn clusters(_: Size) -> usize {
    CALLERS + 1
}

/// What is shipped has no names of functions.
fn with_names(stage: &Stage) -> Result<PathBuf, Trouble> {
    if stage.size() == Size::Short {
        return stage.programs().path("rear-broker");
    }
    let missing = "the names of functions: `cargo build --profile profiling -p rear-broker`";
    let program = stage.programs().of_profile("profiling", "rear-broker");
    program.ok_or_else(|| Trouble::Missing(missing.to_owned()))
}

pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let span = stage.pick(Duration::from_secs(15), Duration::from_secs(2));
    let progress = stage.progress("profile", 3);
    let broker = Broker::start_program(stage, with_names(stage)?)?;
    let file = stage.folder().join("perf.data");
    let mut recording = record(&broker, &file)?;
    progress.done();
    let certificates = stage.pki();
    let load = Load { address: broker.address(), certificates, callers: CALLERS, span };
    let report = load.run().await?;
    outcome.expect(report.is_clean(), || report.to_string());
    outcome.breaks(broker.verify()?);
    // It ends with the broker.
    tokio::task::block_in_place(|| recording.wait())?;
    progress.done();
    let told = tokio::task::block_in_place(|| {
        let arguments =
            ["report", "--stdio", "-q", "--no-children", "-g", "none", "--sort", "symbol", "-i"];
        Command::new("perf").args(arguments).arg(&file).stderr(Stdio::null()).output()
    })?;
    let samples = parse(&String::from_utf8_lossy(&told.stdout));
    progress.done();
    outcome.expect(!samples.is_empty(), || "perf tells nothing".to_owned());
    outcome.count("granted", report.latencies.count());
    outcome.count("functions", samples.len());
    let layers = by_layer(&samples);
    let mut by_layer = Table::new("By layer, of the broker's processor time", &["layer", "share"]);
    for (layer, share) in &layers {
        by_layer.row([Cell::text(*layer), Cell::Percent(*share)]);
    }
    let mut functions = Table::new("The functions that took most", &["function", "layer", "share"]);
    for sample in samples.iter().take(NAMED) {
        let name = format!("`{}`", sample.symbol);
        functions.row([
            Cell::text(name),
            Cell::text(sample.layer()),
            Cell::Percent(sample.percent),
        ]);
    }
    let names: Vec<&str> =
        layers.iter().filter_map(|(layer, _)| layer.split(" (").next()).collect();
    let chart =
        Chart::bars("layers", "Where the broker's processor time goes", &names, Axis::linear("%"));
    outcome.charts.push(chart.with_bars("share", layers.iter().map(|(_, share)| *share)));
    outcome.tables.extend([by_layer, functions]);
    outcome.note(format!(
        "`perf record -e cpu-clock -F {FREQUENCY}` of the broker's process while {CALLERS} callers reserve, {:.0} a second.",
        report.per_second()
    ));
    Ok(outcome)
}

fn record(broker: &Broker<'_>, file: &std::path::Path) -> Result<Child, Trouble> {
    let mut command = Command::new("perf");
    command.args([
        "record",
        "-q",
        "-e",
        "cpu-clock",
        "-F",
        FREQUENCY,
        "-p",
        &broker.id().to_string(),
        "-o",
    ]);
    command.arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    Child::spawn(&mut command)
        .map_err(|error| Trouble::Missing(format!("{error}: install perf (Debian: linux-perf)")))
}
