//! The page with all results, as Markdown: made from the records alone, so that it never says anything else.

use super::Record;
use crate::experiments::Experiment;

/// The page. Records come in the order of the tests.
pub(super) fn page(records: &[Record]) -> String {
    let mut text = String::from(
        "# Results of the evaluation\n\n\
         Written by `cargo xtask evaluate`; [README.md](README.md) explains each test. The figures of a test are in `data/` too, as JSON.\n\n\
         | test | measured | on | took | broken |\n| --- | --- | --- | --: | --: |\n",
    );
    for record in records {
        let Record { test, at, seconds, outcome, .. } = record;
        let (title, broken) = (title(test), outcome.broken.len());
        let on = record.machine.in_short();
        let short = if record.short { ", short run" } else { "" };
        line(
            &mut text,
            &format!("| [{title}](#{test}) | {at}{short} | {on} | {seconds:.0} s | {broken} |"),
        );
    }
    for experiment in Experiment::every() {
        match records.iter().find(|record| record.test == experiment.name) {
            Some(record) => section(&mut text, record),
            None => line(
                &mut text,
                &format!(
                    "\n## {0}\n\n**{1}.** Not measured yet: `cargo xtask evaluate --test {0}`.",
                    experiment.name, experiment.title
                ),
            ),
        }
    }
    text
}

fn section(text: &mut String, record: &Record) {
    let Record { test, seed, machine, limits, outcome, .. } = record;
    line(text, &format!("\n## {test}\n\n**{}**, seed {seed}.", title(test)));
    if record.short {
        line(text, "\nA short run, of seconds: its counts hold, its times say nothing.");
    }
    line(text, &format!("\n{}\n", machine.in_full()));
    line(text, &limits.in_words());
    for table in &outcome.tables {
        line(text, &format!("\n{}:\n\n{}", table.title, table.markdown().trim_end()));
    }
    for chart in &outcome.charts {
        line(text, &format!("\n![{}](charts/{})", chart.title, chart.file(test)));
    }
    for note in &outcome.notes {
        line(text, &format!("\n{note}"));
    }
    if outcome.broken.is_empty() {
        line(text, "\nNothing was broken.");
    } else {
        line(text, "\nBroken:\n");
        outcome.broken.iter().for_each(|broken| line(text, &format!("- {broken}")));
    }
}

pub(super) fn title(test: &str) -> &str {
    Experiment::named(test).map_or(test, |experiment| experiment.title)
}

pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
