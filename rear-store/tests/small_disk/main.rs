//! A disk that is full: no partial grant, a clear error, and everything acknowledged is there when space is back.
//!
//! `cargo xtask test` runs this on a file system of eight megabytes and says where in the environment.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command, Policy, ReservationId};
use rear_store::clock::{Clock, SystemClock};
use rear_store::verify::verify_file;
use rear_store::{Commit, FileError, Journal, RedbJournal, Store, SubmitError, backup};

/// Where the small file system is.
const SMALL_DISK: &str = "REAR_SMALL_DISK";

fn small_disk() -> PathBuf {
    let folder = std::env::var_os(SMALL_DISK);
    folder.expect("REAR_SMALL_DISK names a folder on a small file system").into()
}

fn start(path: &Path, commit: Commit) -> Store {
    let journal = RedbJournal::open(path, commit).unwrap();
    Store::start(journal, Policy::default(), SystemClock::default()).unwrap()
}

fn reserve(number: u128) -> Command {
    let ask = Box::new(ask("r", resources("1m", "1Mi")));
    Command::Reserve { id: id(number), ask, key: None, by: Actor::Cluster(cluster("r")) }
}

/// Reserves until it fails; what was acknowledged, and how it failed.
fn reserve_until_full(store: &Store, first: u128) -> (Vec<ReservationId>, SubmitError) {
    let mut acknowledged = Vec::new();
    for number in first.. {
        match store.submit(reserve(number)) {
            Ok(answer) => acknowledged.push(answer.reservation.unwrap().id),
            Err(error) => return (acknowledged, error),
        }
    }
    unreachable!("a small disk is full some time")
}

fn try_a_full_disk(commit: Commit) {
    let folder = tempfile::tempdir_in(small_disk()).unwrap();
    let ballast = folder.path().join("ballast");
    std::fs::write(&ballast, vec![1; 6 << 20]).unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, commit).unwrap());
    let store = start(&path, commit);
    let told = advertisement("1000000", "1000Ti", SystemClock::default().read().wall);
    let advertise =
        Command::Advertise { cluster: cluster("p"), advertisement: Box::new(told), holding: None };
    store.submit(advertise).unwrap();

    let (acknowledged, error) = reserve_until_full(&store, 1);
    assert!(acknowledged.len() > 10, "{} were granted before: {error}", acknowledged.len());
    assert!(matches!(error, SubmitError::NotDurable(_)), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    // Whether it goes on or has stopped, it says the same, and readers still see what is durable.
    let again = store.submit(reserve(1_000_000)).unwrap_err();
    assert!(again.to_string().contains("No space left on device"), "{again}");
    assert!(store.view().counts().reserved >= acknowledged.len());
    let copy = folder.path().join("copy");
    assert!(backup::write_file(&*store.reader(), &copy).is_err(), "nor is there room for a copy");
    assert!(!copy.exists());
    drop(store);

    std::fs::remove_file(&ballast).unwrap();
    let found = RedbJournal::open(&path, commit).unwrap().load().unwrap();
    for made in &acknowledged {
        assert!(found.reservations.iter().any(|kept| kept.id == *made), "{made} was acknowledged");
    }
    assert!(found.reservations.len() <= acknowledged.len() + 1, "one was in flight");
    assert_eq!(verify_file(&path).unwrap().findings, []);
    let store = start(&path, commit);
    store.submit(reserve(2_000_000)).unwrap();
}

/// One after the other: they share the disk.
#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged_and_leaves_nothing_half_made() {
    try_a_full_disk(Commit::TwoPhase);
    try_a_full_disk(Commit::OnePhase);
    try_a_ledger_that_does_not_fit();
}

fn try_a_ledger_that_does_not_fit() {
    let folder = tempfile::tempdir_in(small_disk()).unwrap();
    let free = free_bytes(folder.path());
    // A new ledger takes more than this.
    std::fs::write(folder.path().join("ballast"), vec![1; free - (8 << 10)]).unwrap();
    let path = folder.path().join("ledger.redb");
    let refused = RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap_err();
    assert!(matches!(refused, FileError::Io { .. }), "{refused:?}");
    assert!(!path.exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn free_bytes(folder: &Path) -> usize {
    let stat = rustix::fs::statvfs(folder).unwrap();
    usize::try_from(stat.f_bavail * stat.f_frsize).unwrap()
}
