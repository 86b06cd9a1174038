//! The suites of `cargo xtask test`: what became of each, and how long it took.

use std::future::{Ready, ready};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::child::{Child, say};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

pub(super) fn clusters(_: Size) -> usize {
    0
}

pub(super) fn run(_: &Stage, _: &Limits) -> Ready<Result<Outcome, Trouble>> {
    ready(measure())
}

fn measure() -> Result<Outcome, Trouble> {
    let mut child =
        Child::spawn(Command::new("cargo").args(["xtask", "test"]).stdout(Stdio::piped()))?;
    let mut results = Vec::new();
    for line in BufReader::new(child.take_stdout()?).lines() {
        let line = line?;
        say(&line)?;
        results.extend(Suite::told(&line));
    }
    child.wait()?;
    if results.is_empty() {
        return Err(Trouble::Other("`cargo xtask test` told of no suite".to_owned()));
    }
    Ok(summed_up(&results))
}

/// One line of the results.
#[derive(Debug, PartialEq)]
struct Suite {
    name: String,
    became: String,
    seconds: f64,
}

impl Suite {
    /// Such as `passed   workspace    12.3 s`; other lines are no results.
    fn told(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (became, name, seconds, unit) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let known = ["passed", "failed", "skipped"].contains(&became) && unit == "s";
        let seconds = seconds.parse().ok().filter(|_| known)?;
        Some(Self { name: name.to_owned(), became: became.to_owned(), seconds })
    }
}

fn summed_up(suites: &[Suite]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut table =
        Table::new("Suites, with what of them still had to be built", &["suite", "", "took"]);
    for Suite { name, became, seconds } in suites {
        table.row([Cell::text(format!("`{name}`")), Cell::text(became), Cell::Seconds(*seconds)]);
        outcome.count(became, 1);
        outcome.expect(became != "failed", || format!("the suite {name} failed"));
    }
    let all = suites.iter().map(|suite| suite.seconds).sum();
    table.row([Cell::text("all of them"), Cell::text(""), Cell::Seconds(all)]);
    outcome.tables.push(table);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_and_nothing_else() {
        let passed = Suite::told("passed   workspace       57.3 s").unwrap();
        assert_eq!((&*passed.name, passed.seconds), ("workspace", 57.3));
        let skipped = Suite::told("skipped  browser  0.0 s  install chromium").unwrap();
        assert_eq!(skipped.became, "skipped");
        for other in
            ["", "1 passed, 0 failed, 0 skipped", "test result: ok. 3 passed; finished in 0.1 s"]
        {
            assert_eq!(Suite::told(other), None, "{other}");
        }
    }

    #[test]
    fn a_suite_that_failed_is_told() {
        let lines = ["passed a 1.0 s", "failed b 2.0 s"];
        let suites: Vec<_> = lines.iter().filter_map(|line| Suite::told(line)).collect();
        let outcome = summed_up(&suites);
        assert_eq!(outcome.broken, ["the suite b failed"]);
        assert_eq!(outcome.counted("passed"), 1);
        assert_eq!(outcome.tables[0].rows.last().unwrap()[2], Cell::Seconds(3.0));
    }
}
