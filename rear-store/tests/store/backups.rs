//! Backups: whole, consistent, checked; restored into a new life in which nothing is promised twice.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rear_engine::advertisement::Holding;
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command, Refusal, Terms, Timestamp};
use rear_store::backup::{
    self, BackupError, ReceiveError, RestoreError, SaveError, inspect, receive, restore, save,
};
use rear_store::records::MAX_RECORD;
use rear_store::{
    Commit, FeedError, FileError, Journal, JournalError, Memory, Position, ReadRows, Reader,
    RedbJournal, Store, SubmitError,
};

use super::damage::{Rows, backup_of, put_row, rows_of, sealed};
use super::history::{History, assert_same};
use super::stage::{Hands, advertise, release, reserve, reserve_with, start};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn later() -> Timestamp {
    Timestamp::from_seconds(1_900_000_000)
}

fn open(path: &Path) -> RedbJournal {
    RedbJournal::open(path, Commit::TwoPhase).unwrap()
}

/// A ledger with a history, and its backup.
fn backed_up(place: &Place, seed: u64) -> (History, PathBuf) {
    let mut history = History::new(seed);
    let mut journal = RedbJournal::create(&place.path("ledger.redb"), 9, Commit::OnePhase).unwrap();
    for _ in 0..30 {
        journal.commit(&history.next_batch()).unwrap();
    }
    let path = place.path("backup");
    let summary = backup::write_file(&*journal.reader(), &path).unwrap();
    assert_eq!(summary.bytes, std::fs::metadata(&path).unwrap().len());
    (history, path)
}

#[test]
fn a_backup_holds_everything_and_begins_a_new_life() {
    let place = Place::new();
    let (history, backup) = backed_up(&place, 1);
    let restored = restore(&backup, &place.path("again.redb"), later()).unwrap();
    assert_eq!(restored.ledger, 9);
    assert_eq!(restored.backup, Position { incarnation: 1, number: 30 });
    assert_eq!(restored.incarnation, 1_900_000_000_000_000);
    let contents = open(&place.path("again.redb")).load().unwrap();
    assert_eq!(contents.meta.position, Position::start_of(1_900_000_000_000_000));
    assert_eq!(restored.clusters, contents.clusters.len());
    assert_eq!(restored.reservations, contents.reservations.len());
    assert_same(&contents, &history.fleet);
    let events = |name: &str| {
        let reader = open(&place.path(name)).reader();
        reader.events_after(Position::start_of(1).into(), 10_000).unwrap()
    };
    assert_eq!(events("again.redb"), events("ledger.redb"));
    assert!(!events("again.redb").is_empty());
}

#[test]
fn each_restore_begins_a_life_of_its_own() {
    let place = Place::new();
    let (_, backup) = backed_up(&place, 2);
    let first = restore(&backup, &place.path("1.redb"), later()).unwrap();
    let soon = later().plus(rear_engine::Duration::from_nanos(1000));
    let second = restore(&backup, &place.path("2.redb"), soon).unwrap();
    assert!(second.incarnation > first.incarnation);
    // Also where the clock stands before the incarnation that the backup is of.
    let reader = open(&place.path("2.redb")).reader();
    backup::write_file(&*reader, &place.path("backup-2")).unwrap();
    let third = restore(&place.path("backup-2"), &place.path("3.redb"), later()).unwrap();
    assert_eq!(third.incarnation, second.incarnation + 1);
}

#[test]
fn nothing_is_overwritten() {
    let place = Place::new();
    let (_, backup) = backed_up(&place, 3);
    let taken = place.path("ledger.redb");
    let refused = restore(&backup, &taken, later()).unwrap_err();
    assert!(matches!(refused, RestoreError::File(FileError::Exists(_))), "{refused}");
    let before = std::fs::read(&backup).unwrap();
    let again = backup::write_file(&*open(&taken).reader(), &backup).unwrap_err();
    assert!(matches!(again, FileError::Exists(_)), "{again}");
    assert_eq!(std::fs::read(&backup).unwrap(), before);
}

#[test]
fn every_flipped_byte_and_every_missing_end_is_noticed() {
    let place = Place::new();
    let mut history = History::new(4);
    let mut journal = Memory::new(9, 1, 1).unwrap();
    for _ in 0..2 {
        journal.commit(&history.next_batch()).unwrap();
    }
    let mut whole = Vec::new();
    backup::write(&*journal.reader(), &mut whole).unwrap();
    let damaged = place.path("damaged");
    let try_it = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        let refused = restore(&damaged, &place.path("again.redb"), later()).unwrap_err();
        assert_eq!(place.names(), ["damaged"], "nothing is left of the attempt");
        refused
    };
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let refused = try_it(&bytes);
        assert!(matches!(refused, RestoreError::Backup(_)), "byte {at}: {refused}");
    }
    for end in (0..whole.len()).step_by(11) {
        let refused = try_it(&whole[..end]);
        let expected = matches!(
            refused,
            RestoreError::Backup(BackupError::Incomplete | BackupError::NotABackup)
        );
        assert!(expected, "cut at {end}: {refused}");
    }
    let longer = [&whole[..], b"more"].concat();
    let refused = try_it(&longer);
    assert!(matches!(refused, RestoreError::Backup(BackupError::Incomplete)), "{refused}");
    let refused = try_it(b"something else entirely, and long enough");
    assert!(matches!(refused, RestoreError::Backup(BackupError::NotABackup)), "{refused}");
    std::fs::remove_file(&damaged).unwrap();
    std::fs::write(&damaged, &whole).unwrap();
    restore(&damaged, &place.path("again.redb"), later()).unwrap();
}

#[test]
fn a_backup_while_others_write_is_of_one_moment() {
    let place = Place::new();
    let hands = Hands::start();
    let journal = RedbJournal::create(&place.path("ledger.redb"), 9, Commit::OnePhase).unwrap();
    let store = start(journal, &hands);
    store.submit(advertise("1000", "1000Gi", &hands)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                store.submit(reserve(number, "1m")).unwrap();
                if number % 3 == 0 {
                    store.submit(release(number)).unwrap();
                }
                if done.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for round in 0..10 {
            let backup = place.path(&format!("backup-{round}"));
            backup::write_file(&*store.reader(), &backup).unwrap();
            // Ledger and reservations belong together, or it would be refused.
            restore(&backup, &place.path(&format!("{round}.redb")), later()).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn after_a_restore_nothing_is_granted_before_the_provider_says_what_it_holds() {
    let place = Place::new();
    let hands = Hands::start();
    let journal = RedbJournal::create(&place.path("ledger.redb"), 9, Commit::OnePhase).unwrap();
    let store = start(journal, &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "1")).unwrap();
    backup::write_file(&*store.reader(), &place.path("backup")).unwrap();
    // What the backup does not know.
    let lost = store.submit(reserve(2, "2")).unwrap().reservation.unwrap();
    let event = store.view().position();
    drop(store);
    restore(&place.path("backup"), &place.path("again.redb"), hands.now()).unwrap();
    let store = start(open(&place.path("again.redb")), &hands);
    let gone = store.events_after(event.into(), None, 9);
    assert!(matches!(gone, Err(FeedError::Gone(_))));
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let refused = store.submit(reserve(3, "1")).unwrap_err();
    let SubmitError::Refused(Refusal::NoRoom(why)) = refused else { panic!("{refused}") };
    assert!(why.to_string().contains("has not yet said what it holds"), "{why}");
    say_what_it_holds(&store, &hands, &[1, 2], &lost.id);
    assert_eq!(store.view().fleet().reservation(lost.id).unwrap().phase.name(), "Reserved");
    assert!(store.submit(reserve(4, "2")).is_err(), "three of four cores are promised");
    store.submit(reserve(5, "1")).unwrap();
}

#[test]
fn what_was_renewed_after_the_backup_does_not_end_at_the_restore() {
    let place = Place::new();
    let hands = Hands::start();
    let journal = RedbJournal::create(&place.path("ledger.redb"), 9, Commit::OnePhase).unwrap();
    let store = start(journal, &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let hour = Terms { duration: Some("1h".parse().unwrap()), ..Terms::default() };
    store.submit(reserve_with(1, "4", hour)).unwrap();
    backup::write_file(&*store.reader(), &place.path("backup")).unwrap();
    let until = hands.now().plus("5h".parse().unwrap());
    let by = Actor::Cluster(cluster("r"));
    store.submit(Command::Renew { id: id(1), until, by }).unwrap();
    drop(store);
    hands.pass(2 * 60 * 60);
    restore(&place.path("backup"), &place.path("again.redb"), hands.now()).unwrap();
    let store = start(open(&place.path("again.redb")), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let held = Holding {
        reservation: id(1),
        ask: ask("r", resources("4", "1Mi")),
        expires_at: Some(until),
    };
    store.submit(advertise_holding(&hands, vec![held])).unwrap();
    assert!(store.submit(reserve(2, "1")).is_err(), "all four cores are promised");
    let kept = store.view().fleet().reservation(id(1)).unwrap().clone();
    assert_eq!((kept.phase.name(), kept.expires_at), ("Reserved", Some(until)));
}

fn advertise_holding(hands: &Hands, holding: Vec<Holding>) -> Command {
    Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("4", "1Gi", hands.now())),
        holding: Some(holding),
    }
}

fn say_what_it_holds(
    store: &Store,
    hands: &Hands,
    numbers: &[u128],
    lost: &rear_engine::ReservationId,
) {
    let held = numbers.iter().map(|number| Holding {
        reservation: id(*number),
        ask: ask("r", resources(if id(*number) == *lost { "2" } else { "1" }, "1Mi")),
        expires_at: None,
    });
    store.submit(advertise_holding(hands, held.collect())).unwrap();
}

/// While it is read, someone else writes the same backup.
struct Crowded<'a>(&'a dyn Reader, &'a Path);

impl Reader for Crowded<'_> {
    fn snapshot(&self) -> Result<Box<dyn ReadRows>, JournalError> {
        backup::write_file(self.0, self.1).unwrap();
        self.0.snapshot()
    }
}

#[test]
fn of_two_who_write_one_backup_one_is_refused_and_the_other_is_whole() {
    let place = Place::new();
    let mut journal = Memory::new(9, 1, 1).unwrap();
    journal.commit(&History::new(5).next_batch()).unwrap();
    let (reader, path) = (journal.reader(), place.path("backup"));
    let second = backup::write_file(&Crowded(&*reader, &path), &path).unwrap_err();
    assert!(matches!(second, FileError::Exists(_)), "{second}");
    assert_eq!(place.names(), ["backup"]);
    restore(&path, &place.path("again.redb"), later()).unwrap();
}

#[test]
fn a_life_after_the_last_that_can_be_counted_is_not_begun() {
    let place = Place::new();
    let journal = Memory::new(9, u64::MAX, 1).unwrap();
    backup::write_file(&*journal.reader(), &place.path("backup")).unwrap();
    let refused = restore(&place.path("backup"), &place.path("again.redb"), later()).unwrap_err();
    assert!(refused.to_string().contains("no further incarnation"), "{refused}");
    assert_eq!(place.names(), ["backup"]);
}

#[test]
fn a_backup_that_is_looked_at_says_what_it_holds() {
    let place = Place::new();
    let (history, path) = backed_up(&place, 5);
    let inspected = inspect(&path).unwrap();
    let contents = open(&place.path("ledger.redb")).load().unwrap();
    assert_eq!(inspected.meta, Some(contents.meta));
    assert_eq!(inspected.schema, rear_store::SCHEMA);
    assert_eq!(inspected.summary.bytes, std::fs::metadata(&path).unwrap().len());
    let rows = |name| inspected.tables.iter().find(|(table, _)| *table == name).unwrap().1;
    assert_eq!(rows("advertisements"), contents.clusters.len() as u64);
    assert_eq!(rows("reservations"), contents.reservations.len() as u64);
    assert_eq!(rows("meta"), 1);
    assert_eq!(inspected.tables.iter().map(|(_, rows)| rows).sum::<u64>(), inspected.summary.rows);
    assert_same(&contents, &history.fleet);
}

#[test]
fn a_backup_that_is_not_whole_is_noticed_when_it_is_looked_at() {
    let place = Place::new();
    let (_, path) = backed_up(&place, 6);
    let bytes = std::fs::read(&path).unwrap();
    for place in (0..bytes.len()).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert!(inspect(&path).is_err(), "a flipped bit in byte {place}");
        std::fs::write(&path, &bytes[..place]).unwrap();
        assert!(inspect(&path).is_err(), "cut off after {place} bytes");
    }
}

#[test]
fn a_ledger_that_nobody_uses_is_saved_as_it_is() {
    let place = Place::new();
    let (_, path) = backed_up(&place, 7);
    let ledger = place.path("ledger.redb");
    let before = std::fs::read(&ledger).unwrap();
    let saved = place.path("saved");
    save(&ledger, &saved).unwrap();
    assert!(std::fs::read(&ledger).unwrap() == before, "not a byte has changed");
    assert!(std::fs::read(&saved).unwrap() == std::fs::read(&path).unwrap());
    let again = save(&ledger, &saved);
    assert!(matches!(again, Err(SaveError::File(FileError::Exists(_)))), "{again:?}");
    let missing = save(&place.path("nowhere"), &place.path("other"));
    assert!(matches!(missing, Err(SaveError::File(FileError::Missing(_)))), "{missing:?}");
    let used = open(&ledger);
    let in_use = save(&ledger, &place.path("other"));
    assert!(matches!(in_use, Err(SaveError::File(FileError::InUse(_)))), "{in_use:?}");
    drop(used);
    assert_eq!(place.names(), ["backup", "ledger.redb", "saved"]);
}

#[test]
fn a_ledger_with_findings_is_not_saved() {
    let place = Place::new();
    backed_up(&place, 8);
    let ledger = place.path("ledger.redb");
    super::damage::remove_row(&ledger, "meta", b"meta");
    let unsound = save(&ledger, &place.path("saved"));
    let Err(SaveError::Unsound(report)) = unsound else { panic!("{unsound:?}") };
    assert!(!report.findings.is_empty());
    assert!(!place.path("saved").exists());
}

#[test]
fn a_backup_that_comes_as_a_stream_is_kept_only_if_it_is_whole() {
    let place = Place::new();
    let (_, path) = backed_up(&place, 5);
    let bytes = std::fs::read(&path).unwrap();
    let kept = place.path("kept");
    let summary = receive(&bytes[..], &kept).unwrap();
    assert_eq!(summary, inspect(&path).unwrap().summary);
    assert_eq!(std::fs::read(&kept).unwrap(), bytes);
    let again = receive(&bytes[..], &kept);
    assert!(matches!(again, Err(ReceiveError::File(FileError::Exists(_)))), "{again:?}");
    let other = place.path("other");
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        let cut_off = receive(&bytes[..cut], &other);
        assert!(matches!(cut_off, Err(ReceiveError::Backup(_))), "{cut_off:?}");
    }
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    assert!(receive(&flipped[..], &other).is_err());
    assert_eq!(place.names(), ["backup", "kept", "ledger.redb"]);
}

/// Found by fuzzing: a second row of the same key won where it was restored, and the first where it was looked at.
#[test]
fn a_backup_with_a_row_twice_or_out_of_order_is_refused_by_everyone() {
    let place = Place::new();
    let (_, backup) = backed_up(&place, 3);
    let whole = std::fs::read(&backup).unwrap();
    let magic = b"REAR ledger backup 1\n".len();
    let length = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let end_of = |at: usize| at + 9 + length(at + 1) + length(at + 5);
    let (first, second) = (magic..end_of(magic), end_of(magic)..end_of(end_of(magic)));
    let rest = &whole[second.end..whole.len() - 17];
    let (first, second) = (&whole[first], &whole[second]);
    let rows = u64::from_le_bytes(whole[whole.len() - 16..whole.len() - 8].try_into().unwrap());
    let twice = [&whole[..magic], first, first, second, rest, &[0], &(rows + 1).to_le_bytes()];
    let turned = [&whole[..magic], second, first, rest, &[0], &rows.to_le_bytes()];
    for bytes in [twice.concat(), turned.concat()] {
        let checksum = twox_hash::XxHash3_64::oneshot(&bytes).to_le_bytes();
        let planted = place.path("planted");
        std::fs::write(&planted, [&bytes[..], &checksum].concat()).unwrap();
        let said = inspect(&planted).unwrap_err().to_string();
        assert!(said.contains("twice or out of order"), "{said}");
        assert!(restore(&planted, &place.path("new.redb"), later()).is_err());
        assert!(!place.path("new.redb").exists());
    }
}

/// A sealed row of exactly so many bytes, its key included.
fn row_of(key: &[u8], bytes: usize) -> Vec<u8> {
    let contents = vec![0; bytes - key.len() - sealed("events", key, 1, b"").len()];
    sealed("events", key, 1, &contents)
}

#[test]
fn a_backup_of_more_than_one_chunk_is_restored_to_its_last_row() {
    let place = Place::new();
    backed_up(&place, 9);
    let only_events = |rows: &mut Rows| rows.retain(|(table, _), _| *table == 3);
    let mut rows = rows_of(&place.path("ledger.redb"));
    rows.retain(|(table, _), _| *table == 4);
    // The first is as long as a record may be, and a chunk ends exactly with the eighth.
    for number in 1..=9_u64 {
        let key = [&[0; 8][..], &number.to_be_bytes(), &[0; 4]].concat();
        let row = row_of(
            &key,
            match number {
                1 => MAX_RECORD + key.len(),
                2 => MAX_RECORD - key.len(),
                _ => MAX_RECORD,
            },
        );
        rows.insert((3, key), row);
    }
    let (backup, again) = (place.path("large"), place.path("again.redb"));
    std::fs::write(&backup, backup_of(&rows)).unwrap();
    restore(&backup, &again, later()).unwrap();
    let mut restored = rows_of(&again);
    only_events(&mut rows);
    only_events(&mut restored);
    assert!(restored == rows, "{} of {} rows", restored.len(), rows.len());
}

#[test]
fn a_backup_of_a_copy_of_a_shared_ledger_says_what_it_holds_too() {
    let place = Place::new();
    backed_up(&place, 10);
    let ledger = place.path("ledger.redb");
    put_row(&ledger, "meta", b"applied", &sealed("meta", b"applied", 1, b"where it ends"));
    let meta = open(&ledger).load().unwrap().meta;
    let backup = place.path("of a copy");
    backup::write_file(&*open(&ledger).reader(), &backup).unwrap();
    assert_eq!(inspect(&backup).unwrap().meta, Some(meta));
    // A file of its own again.
    let again = place.path("again.redb");
    restore(&backup, &again, later()).unwrap();
    assert!(!rows_of(&again).contains_key(&(4, b"applied".to_vec())));
}
