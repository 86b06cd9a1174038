//! Older ledgers are brought up to date, with a backup first; newer ones are not touched.

use std::path::Path;

use rear_store::backup::{RestoreError, restore};
use rear_store::records::meta::{self, Meta, MetaRecordV1};
use rear_store::records::seal::open;
use rear_store::{Commit, FileError, Journal, Position, RedbJournal, SCHEMA};

use super::damage::{put_row, rows_of, sealed};
use super::history::History;

/// A ledger as the first version wrote it: the same rows, and a meta row of schema 1.
fn first_version(path: &Path) -> History {
    let mut history = History::new(1);
    let mut journal = RedbJournal::create(path, 9, Commit::TwoPhase).unwrap();
    for _ in 0..10 {
        journal.commit(&history.next_batch()).unwrap();
    }
    drop(journal);
    put_row(path, "meta", meta::KEY, &golden("meta-1"));
    history
}

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/store/golden/{name}.hex"));
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.trim().len()).step_by(2).map(pair).collect()
}

#[test]
fn a_ledger_of_the_first_schema_is_brought_up_to_date_after_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    let history = first_version(&path);
    let before = Meta::from(open::<MetaRecordV1>(meta::KEY, &golden("meta-1")).unwrap());
    let journal = RedbJournal::open(&path, Commit::TwoPhase).unwrap();
    let contents = journal.load().unwrap();
    assert_eq!(contents.meta, before);
    assert_eq!(contents.meta.trimmed_through, Position::start_of(0));
    assert_eq!(contents.reservations.len(), history.fleet.reservations().count());
    drop(journal);
    let backup = folder.path().join("ledger.redb.schema-1.backup");
    assert!(backup.exists());
    // Opening again finds nothing to do.
    drop(RedbJournal::open(&path, Commit::TwoPhase).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    // The backup can be restored by this program too.
    let now = before.time_mark;
    let restored = restore(&backup, &folder.path().join("again.redb"), now).unwrap();
    assert_eq!((restored.ledger, restored.backup), (before.ledger, before.position));
}

#[test]
fn an_earlier_backup_of_the_same_name_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    first_version(&path);
    let earlier = folder.path().join("ledger.redb.schema-1.backup");
    std::fs::write(&earlier, b"precious").unwrap();
    drop(RedbJournal::open(&path, Commit::TwoPhase).unwrap());
    assert_eq!(std::fs::read(&earlier).unwrap(), b"precious");
    assert!(folder.path().join("ledger.redb.schema-1.1.backup").exists());
}

#[test]
fn a_newer_ledger_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    put_row(&path, "meta", meta::KEY, &sealed("meta", meta::KEY, SCHEMA + 1, b"of the future"));
    let before = std::fs::read(&path).unwrap();
    let refused = RedbJournal::open(&path, Commit::TwoPhase).unwrap_err();
    assert!(matches!(refused, FileError::Newer { found, .. } if found == SCHEMA + 1), "{refused}");
    assert!(refused.to_string().contains("was written by a newer version"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_newer_backup_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    put_row(&path, "meta", meta::KEY, &sealed("meta", meta::KEY, SCHEMA + 1, b"of the future"));
    let backup = folder.path().join("backup");
    std::fs::write(&backup, super::damage::backup_of(&rows_of(&path))).unwrap();
    let again = folder.path().join("again.redb");
    let now = rear_engine::Timestamp::from_seconds(1);
    let refused = restore(&backup, &again, now).unwrap_err();
    assert!(matches!(refused, RestoreError::Newer(found) if found == SCHEMA + 1), "{refused}");
    assert!(!again.exists());
}

#[test]
fn a_newer_ledger_that_was_not_closed_is_not_touched_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    put_row(&path, "meta", meta::KEY, &sealed("meta", meta::KEY, SCHEMA + 1, b"of the future"));
    // What a killed process leaves: the file as it is while someone has it open.
    let copy = folder.path().join("copy.redb");
    let open = redb::Database::open(&path).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    drop(open);
    let before = std::fs::read(&copy).unwrap();
    assert!(before != std::fs::read(&path).unwrap(), "it was not closed");
    let refused = RedbJournal::open(&copy, Commit::TwoPhase).unwrap_err();
    assert!(matches!(refused, FileError::Newer { found, .. } if found == SCHEMA + 1), "{refused}");
    assert!(std::fs::read(&copy).unwrap() == before, "not a byte has changed");
}
