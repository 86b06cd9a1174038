//! The file does not keep space that it no longer needs.

use std::sync::Arc;

use rear_engine::reservation::{Active, Phase};
use rear_engine::{Change, Reservation};
use rear_store::records::Table;
use rear_store::{Batch, Commit, Journal, Position, RedbJournal};

use super::stage::{Hands, start};

#[test]
fn a_file_that_has_become_too_large_is_made_smaller_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    let length = || std::fs::metadata(&path).unwrap().len();
    let hands = Hands::start();
    let mut journal = RedbJournal::create(&path, 9, Commit::OnePhase).unwrap();
    super::crowd::fill(&mut journal, 60_000, hands.now());
    let contents = journal.load().unwrap();
    // All of them are forgotten but the first.
    let mut batch = Batch::empty(contents.meta.position.next().unwrap(), hands.now());
    let rest = contents.reservations[1..].iter();
    batch.changes.extend(rest.map(|kept| Change::Dropped(kept.id)));
    let total = contents.reservations[0].held();
    let cluster = rear_engine::testing::cluster("p");
    batch.changes.push(Change::Ledger { cluster, total });
    journal.commit(&batch).unwrap();
    drop(journal);
    let before = length();
    assert!(before > 4_000_000, "{before}");
    let store = start(RedbJournal::open(&path, Commit::OnePhase).unwrap(), &hands);
    assert_eq!(store.view().counts().reserved, 1);
    drop(store);
    assert!(length() < before / 4, "{} of {before}", length());
    let again = RedbJournal::open(&path, Commit::OnePhase).unwrap().load().unwrap();
    assert_eq!(again.reservations, contents.reservations[..1]);
    assert!(again.meta.position > Position::start_of(1));
}

#[test]
fn a_file_is_made_as_small_as_it_can_be_when_someone_asks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    let length = || std::fs::metadata(&path).unwrap().len();
    let mut journal = RedbJournal::create(&path, 9, Commit::OnePhase).unwrap();
    super::crowd::fill(&mut journal, 5_000, Hands::start().now());
    let contents = journal.load().unwrap();
    let before = length();
    let reader = journal.reader();
    journal.compact().unwrap();
    assert_eq!(length(), before, "not while someone reads");
    drop(reader);
    journal.compact().unwrap();
    assert!(length() < before, "{} of {before}", length());
    assert_eq!(journal.load().unwrap(), contents);
}

#[test]
fn rows_that_have_grown_leave_no_half_empty_pages_when_a_file_is_made_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    let hands = Hands::start();
    let mut journal = RedbJournal::create(&path, 9, Commit::OnePhase).unwrap();
    super::crowd::fill(&mut journal, 20_000, hands.now());
    let contents = journal.load().unwrap();
    let active = |kept: &Reservation| {
        let phase = Phase::Active(Active { since: hands.now() });
        Change::Reservation(Arc::new(Reservation { phase, ..kept.clone() }))
    };
    let mut position = contents.meta.position;
    for some in contents.reservations.chunks(1000) {
        position = position.next().unwrap();
        let mut batch = Batch::empty(position, hands.now());
        batch.changes.extend(some.iter().map(active));
        journal.commit(&batch).unwrap();
    }
    let grown = journal.load().unwrap();
    journal.compact().unwrap();
    let (length, rows) = (std::fs::metadata(&path).unwrap().len(), bytes_of_rows(&journal));
    assert!(length <= rows + rows / 2, "{length} for {rows}");
    assert_eq!(journal.load().unwrap(), grown);
}

fn bytes_of_rows(journal: &RedbJournal) -> u64 {
    let snapshot = journal.reader().snapshot().unwrap();
    let mut bytes = 0;
    for table in Table::ALL {
        let mut add = |key: &[u8], value: &[u8]| {
            bytes += u64::try_from(key.len() + value.len()).unwrap();
            Ok(true)
        };
        snapshot.each_from(table, &[], &mut add).unwrap();
    }
    bytes
}
