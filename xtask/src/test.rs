//! `cargo xtask test`: runs the suites one after the other and sums up.

use std::path::Path;

use crate::failed::Failed;
use crate::stopwatch::{Elapsed, Stopwatch};
use crate::suites::{self, Suite};

/// What became of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// Not run, with what is missing and the remedy.
    Skipped(String),
}

struct Report {
    suite: &'static str,
    outcome: Outcome,
    elapsed: Elapsed,
}

pub(crate) fn run(root: &Path, require_all: bool) -> Result<(), Failed> {
    // A failing suite doesn't hide the results of those after it.
    let reports: Vec<_> = suites::ALL.iter().map(|suite| report(root, suite)).collect();
    println!("\n== results");
    for line in summary(&reports) {
        println!("{line}");
    }
    verdict(&reports, require_all)
}

fn report(root: &Path, suite: &Suite) -> Report {
    println!("\n== {}: {}", suite.name, suite.shows);
    let stopwatch = Stopwatch::start();
    let outcome = outcome(root, suite);
    Report { suite: suite.name, outcome, elapsed: stopwatch.elapsed() }
}

fn outcome(root: &Path, suite: &Suite) -> Outcome {
    if let Err(remedy) = (suite.requirement)(root) {
        println!("   not run: {remedy}");
        return Outcome::Skipped(remedy);
    }
    let commands = match (suite.commands)(root) {
        Ok(commands) => commands,
        Err(message) => {
            println!("   {message}");
            return Outcome::Failed;
        }
    };
    if commands.iter().all(|command| command.run(root).is_ok()) {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}

/// A line for each suite, then the line of counts, which stands alone for who reads it by machine.
fn summary(reports: &[Report]) -> Vec<String> {
    let width = reports.iter().map(|report| report.suite.len()).max().unwrap_or(0);
    let mut lines: Vec<_> = reports.iter().map(|report| line(report, width)).collect();
    let count = |wanted: fn(&Outcome) -> bool| {
        reports.iter().filter(|report| wanted(&report.outcome)).count()
    };
    lines.push(format!(
        "{} passed, {} failed, {} skipped",
        count(|outcome| *outcome == Outcome::Passed),
        count(|outcome| *outcome == Outcome::Failed),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    ));
    lines
}

fn line(report: &Report, width: usize) -> String {
    let Report { suite, outcome, elapsed } = report;
    let (word, remedy) = match outcome {
        Outcome::Passed => ("passed", ""),
        Outcome::Failed => ("failed", ""),
        Outcome::Skipped(remedy) => ("skipped", remedy.as_str()),
    };
    format!("{word:<7}  {suite:<width$}  {elapsed:>9}  {remedy}").trim_end().to_owned()
}

fn verdict(reports: &[Report], require_all: bool) -> Result<(), Failed> {
    let good_enough = |report: &Report| match report.outcome {
        Outcome::Passed => true,
        Outcome::Failed => false,
        Outcome::Skipped(_) => !require_all,
    };
    if reports.iter().all(good_enough) { Ok(()) } else { Err(Failed) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::invocation::Invocation;

    fn finished(suite: &'static str, outcome: Outcome) -> Report {
        Report { suite, outcome, elapsed: Elapsed(Duration::from_millis(1500)) }
    }

    fn suite(
        requirement: fn(&Path) -> Result<(), String>,
        commands: fn(&Path) -> Result<Vec<Invocation>, String>,
    ) -> Suite {
        Suite { name: "planted", shows: "what a test planted", requirement, commands }
    }

    fn outcome_here(suite: &Suite) -> Outcome {
        outcome(Path::new("."), suite)
    }

    #[test]
    fn a_suite_passes_when_all_its_commands_do() {
        let good = suite(|_| Ok(()), |_| Ok(vec![Invocation::new("true"); 2]));
        assert_eq!(outcome_here(&good), Outcome::Passed);
    }

    #[test]
    fn a_suite_fails_with_one_of_its_commands() {
        let bad =
            suite(|_| Ok(()), |_| Ok(vec![Invocation::new("true"), Invocation::new("false")]));
        assert_eq!(outcome_here(&bad), Outcome::Failed);
    }

    #[test]
    fn a_suite_that_cannot_tell_its_commands_fails() {
        let bad = suite(|_| Ok(()), |_| Err("nothing to replay".into()));
        assert_eq!(outcome_here(&bad), Outcome::Failed);
    }

    #[test]
    fn a_suite_whose_requirement_is_missing_is_skipped_with_the_remedy() {
        let skipped = suite(|_| Err("buy a sundial".into()), |_| panic!("must not be asked"));
        assert_eq!(outcome_here(&skipped), Outcome::Skipped("buy a sundial".into()));
    }

    #[test]
    fn the_summary_has_a_line_for_each_suite_and_ends_with_the_counts() {
        let reports = [
            finished("one", Outcome::Passed),
            finished("second", Outcome::Failed),
            finished("third", Outcome::Skipped("buy a sundial".into())),
        ];
        assert_eq!(
            summary(&reports),
            [
                "passed   one         1.5 s",
                "failed   second      1.5 s",
                "skipped  third       1.5 s  buy a sundial",
                "1 passed, 1 failed, 1 skipped",
            ]
        );
    }

    #[test]
    fn a_skipped_suite_fails_the_run_only_when_all_are_required() {
        let reports =
            [finished("one", Outcome::Passed), finished("two", Outcome::Skipped(String::new()))];
        assert_eq!(verdict(&reports, false), Ok(()));
        assert_eq!(verdict(&reports, true), Err(Failed));
    }

    #[test]
    fn a_failed_suite_fails_the_run() {
        let reports = [finished("one", Outcome::Failed), finished("two", Outcome::Passed)];
        assert_eq!(verdict(&reports, false), Err(Failed));
    }
}
