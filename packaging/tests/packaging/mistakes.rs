//! The mistakes that people make, each made, and what the programs say to it.

use std::fs;
use std::hash::Hasher;
use std::path::Path;

use rear_packaging::document::{Act, steps};
use rear_store::records::meta;
use rear_store::{Commit, RedbJournal, SCHEMA};
use redb::{Database, TableDefinition};
use twox_hash::XxHash3_64;

use super::how_tos::{AGENT, PROGRAMS};
use super::session::Trial;
use super::tree::text;

const PAGE: &str = "docs/how-to/when-it-does-not-work.md";

/// What every mistake has beside the message.
const REMEDY: &str = "**What to do**:";

#[test]
fn every_message_is_what_the_programs_say() {
    let before = format!("{PROGRAMS}{AGENT}");
    Trial::of(PAGE).with(ledger_of_a_newer_version).after(&before).run();
}

/// A data directory as the next version will leave it: the row that says so is sealed as all rows are.
fn ledger_of_a_newer_version(folder: &Path) {
    let data = folder.join("newer");
    fs::create_dir(&data).unwrap();
    let path = data.join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    let (table, version, contents) = ("meta", [1, SCHEMA + 1], b"of the future");
    let mut hasher = XxHash3_64::with_seed(0);
    for field in [table.as_bytes(), meta::KEY, &version, contents] {
        hasher.write(&(field.len() as u64).to_le_bytes());
        hasher.write(field);
    }
    let row = [&version[..], &hasher.finish().to_le_bytes(), contents].concat();
    let database = Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let rows = TableDefinition::<&[u8], &[u8]>::new(table);
    transaction.open_table(rows).unwrap().insert(meta::KEY, row.as_slice()).unwrap();
    transaction.commit().unwrap();
}

/// The parts of the page, each with its heading: the mistakes are numbered.
fn mistakes() -> Vec<String> {
    let page = text(PAGE);
    let parts = page.split("\n### ").skip(1).map(str::to_owned);
    parts.map(|part| part.split("\n## ").next().unwrap().to_owned()).collect()
}

#[test]
fn every_mistake_has_its_message_and_its_remedy() {
    let mistakes = mistakes();
    assert!(mistakes.len() >= 30, "only {}", mistakes.len());
    for (number, mistake) in (1..).zip(&mistakes) {
        let heading = mistake.lines().next().unwrap();
        assert!(heading.starts_with(&format!("{number}. ")), "{heading}");
        assert!(mistake.contains(REMEDY), "{heading}: what is to be done?");
        let told = steps(mistake).unwrap().into_iter().any(|step| match step.act {
            Act::Fail { expected, .. }
            | Act::Type { expected, .. }
            | Act::Start { expected, .. } => !expected.is_empty(),
            Act::Write { .. } | Act::Leave { .. } => false,
        });
        assert!(told, "{heading}: what is said?");
    }
}
