//! When something fails: nobody is told what is not so, nobody waits for ever, and damage is not passed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use rear_engine::testing::{cluster, id};
use rear_engine::{Command, Duration, Policy, Refusal};
use rear_store::backup::{self, BackupError};
use rear_store::clock::Clock;
use rear_store::settings::EventRetention;
use rear_store::store::StartError;
use rear_store::timekeeper::Clocks;
use rear_store::writer::MAX_DUE;
use rear_store::{
    Batch, Commit, Journal, JournalError, Memory, Reader, RedbJournal, Settings, Store, SubmitError,
};

use super::damage::{put_row, table};
use super::stage::{Hands, Watched, advertise, hear, release, reserve, reserve_for, start};

#[test]
fn a_refusal_that_rests_on_what_did_not_become_durable_is_not_told() {
    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    open.send(()).unwrap();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    store.submit_with(Command::Hear { cluster: cluster("x") }, |_| {});
    while journal.commits() == 1 {
        thread::yield_now();
    }
    let (told, outcomes) = channel();
    for number in [1, 2] {
        let told = told.clone();
        store.submit_with(reserve(number, "2"), move |outcome| told.send(outcome).unwrap());
    }
    // The first of both takes all there is, and its commit is the one that fails.
    journal.fail_after(1);
    for _ in 0..3 {
        open.send(()).unwrap();
    }
    for outcome in outcomes.iter().take(2) {
        assert!(matches!(outcome, Err(SubmitError::NotDurable(_))), "{outcome:?}");
    }
    open.send(()).unwrap();
    store.submit(reserve(3, "2")).unwrap();
}

/// Clocks that stop working when a test says so: after the reading that ends the commit under way.
struct Fragile(Hands, AtomicBool);

impl Clock for Fragile {
    fn read(&self) -> Clocks {
        let told = self.0.now() >= Hands::start().now().plus(Duration::from_seconds(1));
        assert!(!told || !self.1.swap(true, Ordering::SeqCst), "as told");
        self.0.read()
    }
}

#[test]
fn every_caller_is_called_back_also_when_the_writer_panics() {
    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    let clock = Fragile(hands.clone(), AtomicBool::new(false));
    let store = Store::start(journal.clone(), Policy::default(), clock).unwrap();
    let (told, outcomes) = channel();
    let submit = |command| {
        let told = told.clone();
        store.submit_with(command, move |outcome| told.send(outcome).unwrap());
    };
    submit(advertise("2", "1Gi", &hands));
    while journal.commits() == 0 {
        thread::yield_now();
    }
    submit(reserve(1, "1"));
    submit(reserve(2, "1"));
    drop(told);
    hands.pass(2);
    open.send(()).unwrap();
    let outcomes: Vec<_> = outcomes.iter().collect();
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes[0].is_ok(), "{:?}", outcomes[0]);
    for outcome in &outcomes[1..] {
        assert!(matches!(outcome, Err(SubmitError::Stopped(_))), "{outcome:?}");
    }
}

#[test]
fn whoever_names_a_reservation_gets_it_or_hears_that_it_is_unknown() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "1")).unwrap();
    store.submit(release(1)).unwrap();
    hands.pass(7 * 24 * 60 * 60);
    let again = store.submit(release(1));
    let unknown = Err(SubmitError::Refused(Refusal::UnknownReservation(id(1))));
    assert_eq!(again, unknown, "it is forgotten in this very batch");
}

/// So many promises that end in half a minute, all asked for at once.
fn promise_shortly(store: &Store, many: u128) {
    let (told, outcomes) = channel();
    for number in 1..=many {
        let told = told.clone();
        let command = reserve_for(number, "1m", 30);
        store.submit_with(command, move |outcome| told.send(outcome).unwrap());
    }
    drop(told);
    assert!(outcomes.iter().all(|outcome| outcome.is_ok()));
}

#[test]
fn however_much_ended_while_nobody_ran_has_ended_before_the_first_grant() {
    let hands = Hands::start();
    let journal = Memory::new(7, 1, 1).unwrap();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "4Gi", &hands)).unwrap();
    let many = 3 * u128::try_from(MAX_DUE).unwrap() + 500;
    promise_shortly(&store, many);
    drop(store);
    hands.pass(60);
    let store = start(journal, &hands);
    store.submit(reserve(9999, "4")).unwrap();
    assert_eq!(store.view().counts().released, usize::try_from(many).unwrap());
}

/// Clocks that go on by so much whenever someone looks.
struct Slow(Hands, i64);

impl Clock for Slow {
    fn read(&self) -> Clocks {
        self.0.pass(self.1);
        self.0.read()
    }
}

/// How many commits it takes until 3000 promises have ended, with clocks that go on by so many seconds for each look.
fn commits_to_end_everything(seconds: i64) -> usize {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "4Gi", &hands)).unwrap();
    promise_shortly(&store, 3000);
    drop(store);
    hands.pass(60);
    let before = journal.commits();
    let clock = Slow(hands, seconds);
    let store = Store::start(journal.clone(), Policy::default(), clock).unwrap();
    // Not a grant, for which all that has ended is done first.
    store.submit(hear()).unwrap();
    assert_eq!(store.view().counts().released, 3000);
    journal.commits() - before
}

#[test]
fn what_has_ended_is_done_in_ever_larger_portions_while_that_is_quick() {
    // 128, 256, 512 and so on up to a thousand.
    let quick = commits_to_end_everything(0);
    assert!(quick <= 10, "{quick}");
    let slow = commits_to_end_everything(1);
    assert!(slow >= 3000 / 128, "{slow}");
}

#[test]
fn nobody_is_refused_for_want_of_room_that_has_ended() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "4Gi", &hands)).unwrap();
    // More than are ended in the first batch.
    for number in 1..=400 {
        store.submit(reserve_for(number, "10m", 30)).unwrap();
    }
    hands.pass(60);
    store.submit(reserve(9999, "4")).unwrap();
    assert_eq!(store.meters().commit_micros().sum, 0, "these clocks stood still in each commit");
}

#[test]
fn failures_that_are_not_in_a_row_are_no_end() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    for number in 1..=5 {
        journal.fail_after(0);
        let failed = store.submit(reserve(number, "100m"));
        assert!(matches!(failed, Err(SubmitError::NotDurable(_))), "{failed:?}");
        store.submit(reserve(number, "100m")).unwrap();
    }
    assert_eq!(store.failure(), None);
}

#[test]
fn a_success_that_wrote_nothing_makes_up_for_no_failure() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(hear()).unwrap();
    for number in 1..=3 {
        assert_eq!(store.failure(), None);
        journal.fail_after(0);
        drop(store.submit(reserve(number, "100m")));
        drop(store.submit(hear()));
    }
    let why = store.failure().unwrap();
    assert!(why.contains("3 failures in a row"), "{why}");
}

#[test]
fn a_retention_that_is_set_while_the_store_runs_counts_from_then_on() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    for number in 1..=20 {
        store.submit(reserve(number, "1m")).unwrap();
    }
    assert_eq!(store.view().trimmed_through().number, 0);
    let events = EventRetention { count: 5, ..EventRetention::default() };
    store.reconfigure(Settings { events, ..Settings::default() }).unwrap();
    store.submit(reserve(99, "1m")).unwrap();
    assert!(store.view().trimmed_through().number > 0);
}

#[test]
fn a_log_without_a_limit_of_number_is_kept() {
    let hands = Hands::start();
    let retention = EventRetention { count: usize::MAX, ..EventRetention::default() };
    let settings = Settings { events: retention, ..Settings::default() };
    let store = Store::start(Memory::new(7, 1, 1).unwrap(), settings, hands.clone()).unwrap();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "1")).unwrap();
    store.submit(release(1)).unwrap();
    assert_eq!(store.failure(), None);
    assert_eq!(store.view().trimmed_through().number, 0);
}

/// A file in which one byte of the first event is not what was written.
fn with_a_damaged_event(folder: &tempfile::TempDir, hands: &Hands) -> RedbJournal {
    let path = folder.path().join("ledger.redb");
    let store = start(RedbJournal::create(&path, 9, Commit::OnePhase).unwrap(), hands);
    store.submit(advertise("4", "1Gi", hands)).unwrap();
    drop(store);
    let (key, mut value) = table(&path, "events").remove(0);
    *value.last_mut().unwrap() ^= 1;
    put_row(&path, "events", &key, &value);
    RedbJournal::open(&path, Commit::OnePhase).unwrap()
}

#[test]
fn a_damaged_log_is_told_at_the_start_and_not_with_every_command() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::start());
    let journal = with_a_damaged_event(&folder, &hands);
    let refused = Store::start(journal, Policy::default(), hands).err().unwrap();
    assert!(matches!(refused, StartError::Journal(_)), "{refused}");
}

#[test]
fn a_damaged_record_is_not_carried_into_a_backup() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::start());
    let journal = with_a_damaged_event(&folder, &hands);
    let refused = backup::write(&*journal.reader(), &mut Vec::new()).unwrap_err();
    assert!(matches!(refused, BackupError::Journal(_)), "{refused}");
    let copy = folder.path().join("backup");
    assert!(backup::write_file(&*journal.reader(), &copy).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the ledger");
}

/// Takes empty batches only.
struct Fussy(Memory);

impl Journal for Fussy {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        if batch.changes.is_empty() {
            return self.0.commit(batch);
        }
        Err(JournalError::Missing("the will to go on"))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.0.reader()
    }
}

#[test]
fn a_store_that_fails_again_and_again_stops_and_says_why() {
    let hands = Hands::start();
    let store = start(Fussy(Memory::new(7, 1, 1).unwrap()), &hands);
    for _ in 0..3 {
        let failed = store.submit(advertise("2", "1Gi", &hands));
        assert!(matches!(failed, Err(SubmitError::NotDurable(_))), "{failed:?}");
    }
    let why = loop {
        match store.failure() {
            Some(why) => break why,
            None => thread::yield_now(),
        }
    };
    assert!(
        why.ends_with("the will to go on; then: it was the last of 3 failures in a row"),
        "{why}"
    );
    let stopped = store.submit(advertise("2", "1Gi", &hands));
    assert_eq!(stopped, Err(SubmitError::Stopped(why)));
}
