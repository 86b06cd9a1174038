//! The page about a soak, as Markdown, with a chart; made from the record alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::growth::{Level, Quantity};
use super::{EVENTS_KEPT, Record};
use crate::chart::{Axis, Chart, svg};
use crate::outcome::{Cell, Table};

/// A file of the results cannot be written.
#[derive(Debug, Error)]
#[error("{} cannot be written", path.display())]
pub struct KeepError {
    path: PathBuf,
    source: io::Error,
}

/// Writes `soak.md`, and what it is made from.
pub fn keep(record: &Record, folder: &Path) -> Result<(), KeepError> {
    let mut text = serde_json::to_string(record).unwrap_or_default();
    text.push('\n');
    let chart = chart(record);
    for (name, contents) in [
        (format!("charts/{}", chart.file("soak")), svg(&chart)),
        ("data/soak.json".to_owned(), text),
        ("soak.md".to_owned(), page(record)),
    ] {
        let path = folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, contents));
        written.map_err(|source| KeepError { path, source })?;
    }
    Ok(())
}

fn page(record: &Record) -> String {
    let Record { seed, at, seconds, machine, clusters, outcome, .. } = record;
    let minutes = seconds / 60;
    let mut text = format!(
        "# The soak\n\n\
         Written by `cargo xtask soak`; `data/soak.json` has every figure. `cargo xtask soak --minutes {minutes} --seed {seed}` makes the same \
         clusters, wishes and faults; when they meet is up to the machine.\n\n\
         {clusters} simulated clusters speak to one broker for {minutes} minutes, beginning at {at}. Their load changes, they wish for capacity in bursts, \
         use half of it, give most of it back and leave the rest to expire; agents crash, and answers are lost on purpose. Meanwhile the broker is killed and \
         stopped at random, everyone gets new certificates, and once the machine is lost and a backup of half a minute before is restored. Then the \
         broker is one process for more than half of the time, so that growth would show. After each of these things a copy of the running ledger is \
         restored elsewhere and looked at by `rear-broker verify`; after a kill, so is the file that was left. The witness of `rear-fleet` watches every promise from \
         outside, all the time.\n\n{}\n\n## What happened\n\n",
        machine.in_full()
    );
    let mut counts = Table::new("", &["what", "how often"]);
    for (what, many) in &outcome.counts {
        counts.row([Cell::text(what), Cell::Count(*many)]);
    }
    text += &counts.markdown();
    text += if outcome.broken.is_empty() {
        "\nNo promise was broken, every audit was clean, and nothing grew.\n"
    } else {
        "\nBroken:\n\n"
    };
    for broken in &outcome.broken {
        text.extend(["- ", broken, "\n"]);
    }
    text += &growth(record);
    text
}

fn growth(record: &Record) -> String {
    let mut table = Table::new("", &["what", "after the warm-up", "at the end", "allowed"]);
    for Level { quantity, early, late, allowed } in &record.levels {
        let cell = |figure: u64| {
            if quantity.is_bytes() { Cell::Bytes(figure) } else { Cell::Count(figure) }
        };
        table.row([Cell::text(quantity.name()), cell(*early), cell(*late), cell(*allowed)]);
    }
    format!(
        "\n## What must not grow\n\n{}\n\
         The rule (`benches/evaluation/src/soak/growth.rs`, with planted leaks that it must notice): of the longest time in which the broker was one process, and for \
         the agents of the whole time, the first quarter is the warm-up; the median of the second quarter is compared with that of the last. Allowed is a tenth \
         more, a small slack, and for memory and file what each further remembered reservation takes: ended ones are remembered for a day at least, so that \
         both follow their number. Events are limited to {EVENTS_KEPT} here. A leak of less than a tenth of the level in half of the time is not seen.\n\n\
         ![Memory and file over time](charts/soak-memory.svg)\n",
        table.markdown()
    )
}

fn chart(record: &Record) -> Chart {
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    let line = |quantity: Quantity| -> Vec<(f64, f64)> {
        let point =
            |sample: &super::Sample| (sample.at as f64 / 60.0, sample.get(quantity) as f64 / 1e6);
        record.samples.iter().map(point).collect()
    };
    Chart::lines("memory", "Memory and file over time", Axis::linear("minutes"), Axis::linear("MB"))
        .with("broker", line(Quantity::BrokerMemory))
        .with("ledger file", line(Quantity::LedgerFile))
        .with("all agents", line(Quantity::AgentsMemory))
}
