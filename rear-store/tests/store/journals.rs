//! One contract for every journal: what was committed is there, what was refused left no trace.

use rear_engine::testing::{cluster, id};
use rear_engine::{Change, Event, Happening, Subject, Timestamp};
use rear_store::records::Table;
use rear_store::{Batch, Commit, EventId, Journal, JournalError, Memory, Position, RedbJournal};

use super::disk::Disk;
use super::history::{History, assert_same};

const LEDGER: u128 = 77;

fn memory() -> Memory {
    Memory::new(LEDGER, 1, 1).unwrap()
}

fn on(disk: &Disk, commit: Commit) -> RedbJournal {
    RedbJournal::on_backend(disk.clone(), LEDGER, commit).unwrap()
}

fn contract(claim: impl Fn(&mut dyn Journal)) {
    claim(&mut memory());
    for commit in [Commit::TwoPhase, Commit::OnePhase] {
        claim(&mut on(&Disk::new(), commit));
    }
    #[cfg(feature = "etcd-tests")]
    claim(&mut super::etcd::Place::new().open(LEDGER));
}

fn at(number: u64) -> Position {
    Position { incarnation: 1, number }
}

fn empty(number: u64) -> Batch {
    Batch::empty(at(number), Timestamp::from_seconds(i64::try_from(number).unwrap()))
}

#[test]
fn a_new_ledger_is_empty_and_knows_itself() {
    contract(|journal| {
        let contents = journal.load().unwrap();
        assert_eq!((contents.meta.ledger, contents.meta.position), (LEDGER, at(0)));
        assert!(contents.clusters.is_empty() && contents.reservations.is_empty());
    });
}

#[test]
fn what_was_committed_is_there() {
    contract(|journal| {
        let mut history = History::new(1);
        for _ in 0..40 {
            let batch = history.next_batch();
            journal.commit(&batch).unwrap();
            assert_same(&journal.load().unwrap(), &history.fleet);
        }
        assert!(history.fleet.reservations().count() > 20);
    });
}

#[test]
fn rows_are_counted_as_they_are_read() {
    contract(|journal| {
        let mut history = History::new(3);
        for _ in 0..20 {
            journal.commit(&history.next_batch()).unwrap();
        }
        let rows = journal.reader().snapshot().unwrap();
        for table in Table::ALL {
            let mut read = 0;
            let mut count = |_: &[u8], _: &[u8]| {
                read += 1;
                Ok(true)
            };
            rows.each_from(table, &[], &mut count).unwrap();
            assert_eq!(rows.count(table).unwrap(), read, "{}", table.name());
        }
        assert!(rows.count(Table::Events).unwrap() > 1);
    });
}

#[test]
fn batches_follow_each_other_or_are_refused() {
    contract(|journal| {
        journal.commit(&empty(1)).unwrap();
        for wrong in [0, 1, 3] {
            let refused = journal.commit(&empty(wrong)).unwrap_err();
            assert!(matches!(refused, JournalError::OutOfOrder { .. }), "{refused}");
        }
        let other = Batch { position: Position { incarnation: 2, number: 2 }, ..empty(2) };
        assert!(matches!(journal.commit(&other), Err(JournalError::OutOfOrder { .. })));
        journal.commit(&empty(2)).unwrap();
        assert_eq!(journal.load().unwrap().meta.position, at(2));
    });
}

#[test]
fn a_batch_that_fails_in_the_middle_leaves_nothing() {
    contract(|journal| {
        let mut history = History::new(2);
        journal.commit(&history.next_batch()).unwrap();
        let before = journal.load().unwrap();
        let mut batch = history.next_batch();
        // The last change names a cluster that is not there.
        batch.changes.push(Change::Refreshed {
            cluster: cluster("nobody"),
            at: batch.time_mark,
            timestamp: batch.time_mark,
            order: None,
            durable: true,
        });
        assert!(matches!(journal.commit(&batch), Err(JournalError::Missing("advertisements"))));
        assert_eq!(journal.load().unwrap(), before);
        assert!(journal.reader().events_after(at(1).into(), 10).unwrap().is_empty());
    });
}

#[test]
fn events_are_read_in_order_from_any_position() {
    contract(|journal| {
        let event = |number| Event {
            at: Timestamp::from_seconds(5),
            subject: Subject::Reservation(id(number)),
            what: Happening::Reserved,
            by: rear_engine::Actor::Broker,
        };
        for (number, events) in [(1, vec![1, 2]), (2, vec![]), (3, vec![3]), (300, vec![])] {
            if number > 3 {
                break;
            }
            let events = events.into_iter().map(event).collect();
            journal.commit(&Batch { events, ..empty(number) }).unwrap();
        }
        let all = journal.reader().events_after(at(0).into(), 10).unwrap();
        let told = |number, place, what| (EventId { position: at(number), place }, event(what));
        assert_eq!(all, [told(1, 0, 1), told(1, 1, 2), told(3, 0, 3)]);
        let between = EventId { position: at(1), place: 0 };
        let rest = journal.reader().events_after(between, 10).unwrap();
        assert_eq!(rest, [told(1, 1, 2), told(3, 0, 3)]);
        assert_eq!(journal.reader().events_after(at(1).into(), 10).unwrap(), [told(3, 0, 3)]);
        assert_eq!(journal.reader().events_after(at(0).into(), 2).unwrap().len(), 2);
        assert!(journal.reader().events_after(at(3).into(), 10).unwrap().is_empty());
        assert!(journal.reader().events_after(at(u64::MAX).into(), 10).unwrap().is_empty());
    });
}

#[test]
fn only_durable_refreshments_are_written_and_the_time_mark_never_goes_back() {
    contract(|journal| {
        let mut history = History::new(3);
        let first = history.next_batch();
        journal.commit(&first).unwrap();
        let name = rear_engine::testing::fleets::name(0);
        let later = first.time_mark.plus("1m".parse().unwrap());
        let refreshed = |durable| Change::Refreshed {
            cluster: name.clone(),
            at: later,
            timestamp: later,
            order: None,
            durable,
        };
        let heard = |durable| Change::Heard { cluster: cluster("ear"), at: later, durable };
        let before = journal.load().unwrap();
        let changes = vec![refreshed(false), heard(false)];
        journal.commit(&Batch { changes, ..empty(2) }).unwrap();
        let unchanged = journal.load().unwrap();
        assert_eq!(unchanged.clusters, before.clusters);
        assert_eq!(unchanged.meta.time_mark, first.time_mark);
        let changes = vec![refreshed(true), heard(true), Change::RecoveryEnded { incarnation: 4 }];
        journal.commit(&Batch { changes, ..empty(3) }).unwrap();
        let after = journal.load().unwrap();
        assert_eq!(after.clusters[0].advertised.as_ref().unwrap().received_at, later);
        let ear = after.clusters.iter().find(|kept| kept.id == cluster("ear")).unwrap();
        assert_eq!(ear.heard_at, Some(later));
        assert_eq!(after.meta.recovered_through, 4);
    });
}

#[test]
fn a_forgotten_cluster_and_a_dropped_reservation_leave_no_rows() {
    contract(|journal| {
        let mut history = History::new(4);
        for _ in 0..10 {
            journal.commit(&history.next_batch()).unwrap();
        }
        let contents = journal.load().unwrap();
        let gone = contents.clusters[0].id.clone();
        let dropped = contents.reservations[0].id;
        let changes = vec![Change::Forgotten(gone.clone()), Change::Dropped(dropped)];
        journal.commit(&Batch { changes, ..empty(11) }).unwrap();
        let after = journal.load().unwrap();
        assert_eq!(after.clusters.len(), contents.clusters.len() - 1);
        assert!(after.ledgers.iter().all(|(id, _)| *id != gone));
        assert!(after.reservations.iter().all(|kept| kept.id != dropped));
    });
}

#[test]
fn the_file_and_the_memory_hold_the_same() {
    let disk = Disk::new();
    let mut memory = memory();
    for seed in 10..14 {
        let disk = if seed == 10 { disk.clone() } else { Disk::new() };
        let mut model = if seed == 10 { memory.clone() } else { super::journals::memory() };
        let mut file = on(&disk, Commit::TwoPhase);
        let mut history = History::new(seed);
        for number in 0..30 {
            let batch = history.next_batch();
            file.commit(&batch).unwrap();
            model.commit(&batch).unwrap();
            if number % 7 == 0 {
                drop(file);
                file = on(&disk, Commit::TwoPhase);
            }
            assert_eq!(file.load().unwrap(), model.load().unwrap());
        }
        let events =
            |journal: &dyn Journal| journal.reader().events_after(at(0).into(), 1000).unwrap();
        assert_eq!(events(&file), events(&model));
        memory = model;
    }
}

#[test]
fn a_ledger_knows_how_long_its_rows_are() {
    contract(|journal| {
        let mut history = History::new(3);
        for _ in 0..5 {
            journal.commit(&history.next_batch()).unwrap();
        }
        let rows = journal.reader().snapshot().unwrap();
        let mut bytes = 0;
        for table in [Table::Advertisements, Table::Ledger, Table::Reservations] {
            rows.each_from(table, &[], &mut |key, value| {
                bytes += (key.len() + value.len()) as u64;
                Ok(true)
            })
            .unwrap();
        }
        assert!(bytes > 0);
        assert_eq!(journal.load().unwrap().bytes, bytes);
    });
}
