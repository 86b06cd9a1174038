//! The build: how long it takes when nothing is there, and how large the programs are that come out of it.

use std::fs;
use std::future::{Ready, ready};
use std::io;
use std::path::Path;
use std::process::Command;

use tokio::time::Instant;

use crate::child::Child;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// What is shipped.
const PROGRAMS: [&str; 4] = ["rear-agent", "rear-broker", "rear-fleet", "rearctl"];

pub(super) fn clusters(_: Size) -> usize {
    0
}

pub(super) fn run(stage: &Stage, _: &Limits) -> Ready<Result<Outcome, Trouble>> {
    ready(measure(stage))
}

fn measure(stage: &Stage) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let folder = stage.new_folder("build")?;
    let progress = stage.progress("build", 2);
    let mut times = Table::new(
        "From nothing, with the sources of all crates on the disk",
        &["what", "command", "took"],
    );
    for (what, arguments) in [
        ("the programs, as they are shipped", programs()),
        ("every test of the workspace", "test --locked --workspace --no-run".to_owned()),
    ] {
        progress.at(what);
        let took = time(&folder, &arguments)?;
        times.row([
            Cell::text(what),
            Cell::text(format!("`cargo {arguments}`")),
            Cell::Seconds(took),
        ]);
        progress.done();
    }
    outcome.tables.push(times);
    outcome.tables.push(sizes(&folder.join("release"))?);
    outcome.count("programs", PROGRAMS.len());
    Ok(outcome)
}

fn programs() -> String {
    let packages: Vec<_> = PROGRAMS.iter().map(|program| format!("--package {program}")).collect();
    format!("build --locked --release --bins {}", packages.join(" "))
}

/// In seconds.
fn time(folder: &Path, arguments: &str) -> Result<f64, Trouble> {
    let began = Instant::now();
    let mut cargo = Command::new("cargo");
    cargo.args(arguments.split(' ')).arg("--quiet").env("CARGO_TARGET_DIR", folder);
    let ended = Child::spawn(&mut cargo)?.wait()?;
    if ended.success() {
        return Ok(began.elapsed().as_secs_f64());
    }
    Err(Trouble::Other(format!("`cargo {arguments}` failed: {ended}")))
}

fn sizes(folder: &Path) -> io::Result<Table> {
    let mut table = Table::new("The programs", &["program", "size of its file"]);
    for program in PROGRAMS {
        let size = fs::metadata(folder.join(program))?.len();
        table.row([Cell::text(format!("`{program}`")), Cell::Bytes(size)]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_built_and_weighed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sizes(folder.path()).is_err(), "none is there");
        for program in PROGRAMS {
            assert!(programs().contains(program));
            fs::write(folder.path().join(program), [0; 1500]).unwrap();
        }
        let table = sizes(folder.path()).unwrap();
        assert_eq!(table.rows.len(), PROGRAMS.len());
        assert!(table.rows.iter().all(|row| row[1] == Cell::Bytes(1500)));
    }

    #[test]
    fn a_build_that_fails_is_no_figure() {
        let folder = tempfile::tempdir().unwrap();
        let error = time(folder.path(), "build --locked --package no-such-package").unwrap_err();
        assert!(error.to_string().contains("no-such-package"), "{error}");
    }
}
