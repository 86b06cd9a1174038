//! The page with the figures alone, by what people ask for: made from the same records as the long one.

use super::page::{line, title};
use super::{Outcome, Record};

/// What people ask for, and the tests that answer.
const QUESTIONS: [(&str, &[&str]); 6] = [
    ("How long a build takes, and what comes out", &["build"]),
    ("How long the tests take", &["suites"]),
    (
        "Memory and processor, at rest and with more and more agents",
        &["scale", "footprint", "kubernetes", "bandwidth"],
    ),
    ("Reservations in a second, and how long they take", &["concurrency", "latency", "etcd"]),
    (
        "After a fault, and after a start",
        &["recovery", "expiry-storm", "reconnect-storm", "startup"],
    ),
    ("Right answers", &["exhaustion", "accuracy"]),
];

/// Tests that do harm on purpose.
const HARM: [&str; 5] = ["recovery", "failing-disk", "expiry-storm", "reconnect-storm", "day"];

/// The page.
pub(super) fn figures(records: &[Record]) -> String {
    let mut text = String::from(
        "# Figures\n\n\
         Written by `cargo xtask figures`, which measures all of it anew; `cargo xtask evaluate --test NAME` measures one part, and `cargo xtask evaluate --render` writes this page from \
         `docs/evaluation/data`. Only what was measured is here, with its command, its date and what the machine can do at best. [What each test does](evaluation/README.md), [charts and \
         notes](evaluation/results.md), and the benchmarks of single parts: [decisions](explanation/decision-speed.md), [the broker](explanation/broker-load.md), \
         [agents](explanation/agent-cost.md).\n",
    );
    for (question, tests) in QUESTIONS {
        line(&mut text, &format!("\n## {question}"));
        for test in tests {
            match records.iter().find(|record| record.test == *test) {
                Some(record) => part(&mut text, record),
                None => line(
                    &mut text,
                    &format!("\nNot measured yet: `cargo xtask evaluate --test {test}`."),
                ),
            }
        }
    }
    line(
        &mut text,
        "\n## Faults survived\n\n| test | what was done | broken |\n| --- | --- | --: |",
    );
    for record in records.iter().filter(|record| HARM.contains(&&*record.test)) {
        let Record { test, outcome, .. } = record;
        let (done, broken) = (counted(outcome), outcome.broken.len());
        line(
            &mut text,
            &format!("| [{}](evaluation/results.md#{test}) | {done} | {broken} |", title(test)),
        );
    }
    text
}

fn part(text: &mut String, record: &Record) {
    let Record { test, at, machine, limits, outcome, .. } = record;
    line(text, &format!("\n### {}\n\n`cargo xtask evaluate --test {test}`, {at}.", title(test)));
    if record.short {
        line(text, "\nA short run, of seconds: its counts hold, its times say nothing.");
    }
    line(text, &format!("\n{} {}", machine.in_full(), limits.in_words()));
    for table in &outcome.tables {
        line(text, &format!("\n{}:\n\n{}", table.title, table.markdown().trim_end()));
    }
    outcome.broken.iter().for_each(|broken| line(text, &format!("\nBroken: {broken}")));
}

fn counted(outcome: &Outcome) -> String {
    let counts = outcome.counts.iter().map(|(what, many)| format!("{what}: {many}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Experiment;

    #[test]
    fn every_test_that_is_asked_for_exists() {
        let asked = QUESTIONS.iter().flat_map(|(_, tests)| *tests).chain(&HARM);
        asked.for_each(|test| assert!(Experiment::named(test).is_some(), "{test}"));
    }

    #[test]
    fn what_was_not_measured_is_named_with_its_command() {
        let page = figures(&[]);
        assert!(page.contains("`cargo xtask evaluate --test recovery`"), "{page}");
    }
}
