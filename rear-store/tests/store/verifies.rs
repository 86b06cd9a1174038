//! Verify: each kind of damage is found and named, and a sound ledger is said to be sound.

use std::path::{Path, PathBuf};

use rear_engine::testing::fleets::Dice;
use rear_engine::testing::{cluster, id, resources};
use rear_engine::{Actor, Command, Reservation, ReservationId, Timestamp};
use rear_store::records::event::key_of as event_key;
use rear_store::records::ledger::LedgerRecord;
use rear_store::records::meta::{self, Meta, MetaRecord};
use rear_store::records::reservation::{ReservationRecord, key_of};
use rear_store::records::seal::seal;
use rear_store::verify::{verify, verify_file};
use rear_store::{Commit, Contents, EventId, FileError, Journal, Position, RedbJournal};

use super::damage::{put_row, remove_row, sealed, table};
use super::history::History;
use super::stage::{Hands, advertise, release, reserve, start};

/// A ledger in which things have happened: 1 lives, 2 is in use, 3 was given back.
struct Ledger {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Ledger {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.redb");
        let hands = Hands::start();
        let store = start(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap(), &hands);
        store.submit(advertise("8", "1Gi", &hands)).unwrap();
        for number in 1..=3 {
            store.submit(reserve(number, "1")).unwrap();
        }
        store.submit(Command::Activate { id: id(2), by: Actor::Cluster(cluster("r")) }).unwrap();
        store.submit(release(3)).unwrap();
        Self { _folder: folder, path }
    }

    fn contents(&self) -> Contents {
        RedbJournal::open(&self.path, Commit::TwoPhase).unwrap().load().unwrap()
    }

    fn reservation(&self, number: u128) -> Reservation {
        self.contents().reservations.into_iter().find(|kept| kept.id == id(number)).unwrap()
    }

    fn put_reservation(&self, kept: &Reservation) {
        let key = key_of(kept.id);
        let value = seal(&key, &ReservationRecord::from(kept)).unwrap();
        put_row(&self.path, "reservations", &key, &value);
    }

    fn put_ledger(&self, name: &str, cpu: &str, memory: &str) {
        let record = LedgerRecord::from(resources(cpu, memory));
        put_row(&self.path, "ledger", name.as_bytes(), &seal(name.as_bytes(), &record).unwrap());
    }

    fn value(&self, name: &str, key: &[u8]) -> Vec<u8> {
        table(&self.path, name).into_iter().find(|(kept, _)| kept == key).unwrap().1
    }

    /// Everything that is found, in lines.
    fn found(&self) -> String {
        let report = verify_file(&self.path).unwrap();
        assert!(!report.findings.is_empty(), "nothing was found");
        report.to_string()
    }
}

/// Asserts that the damage is found, and said in these words.
fn finds(damage: impl FnOnce(&Ledger), words: &[&str]) {
    let ledger = Ledger::new();
    damage(&ledger);
    let found = ledger.found();
    for words in words {
        assert!(found.contains(words), "{words:?} is not in:\n{found}");
    }
}

fn reservation_key(number: u128) -> [u8; 16] {
    key_of(id(number))
}

#[test]
fn a_sound_ledger_is_sound_and_its_file_is_not_touched() {
    let ledger = Ledger::new();
    let before = std::fs::read(&ledger.path).unwrap();
    let report = verify_file(&ledger.path).unwrap();
    assert_eq!(report.findings, []);
    let counts =
        [("advertisements", 1), ("ledger", 1), ("reservations", 3), ("events", 6), ("meta", 1)];
    assert_eq!(report.rows, counts);
    assert!(report.to_string().ends_with("all is well"), "{report}");
    assert_eq!(std::fs::read(&ledger.path).unwrap(), before);
    let missing = verify_file(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(matches!(missing, FileError::Missing(_)));
}

#[test]
fn a_ledger_in_use_is_verified_in_a_snapshot_and_its_file_is_said_to_be_in_use() {
    let ledger = Ledger::new();
    let journal = RedbJournal::open(&ledger.path, Commit::TwoPhase).unwrap();
    assert_eq!(verify(&*journal.reader().snapshot().unwrap()).findings, []);
    assert!(matches!(verify_file(&ledger.path), Err(FileError::InUse(_))));
}

#[test]
fn whatever_was_decided_is_sound() {
    for seed in 1..=20 {
        let mut journal = rear_store::Memory::new(9, 1, 1).unwrap();
        let mut history = History::new(seed);
        for _ in 0..50 {
            journal.commit(&history.next_batch()).unwrap();
        }
        let report = verify(&*journal.reader().snapshot().unwrap());
        assert_eq!(report.findings, [], "seed {seed}");
    }
}

#[test]
fn it_finds_a_flipped_byte_in_a_record() {
    let flip = |ledger: &Ledger| {
        let mut value = ledger.value("reservations", &reservation_key(1));
        *value.last_mut().unwrap() ^= 1;
        put_row(&ledger.path, "reservations", &reservation_key(1), &value);
    };
    let row = format!("table reservations, row {}", id(1));
    finds(flip, &[&row, "its checksum does not match", "the ledger says 2000"]);
}

#[test]
fn it_finds_a_record_under_another_key() {
    let swap = |ledger: &Ledger| {
        let value = ledger.value("advertisements", b"p");
        put_row(&ledger.path, "advertisements", b"q", &value);
    };
    finds(swap, &["table advertisements, row q", "its checksum does not match"]);
}

#[test]
fn it_finds_a_ledger_that_is_not_the_sum() {
    finds(
        |ledger| ledger.put_ledger("p", "3", "2Mi"),
        &["invariant 1: cpu on p: the ledger says 3000, the reservations sum up to 2000"],
    );
}

#[test]
fn it_finds_a_missing_ledger() {
    finds(
        |ledger| remove_row(&ledger.path, "ledger", b"p"),
        &["invariant 1: cpu on p: the ledger says 0, the reservations sum up to 2000"],
    );
}

#[test]
fn it_finds_a_ledger_of_nobody() {
    finds(
        |ledger| ledger.put_ledger("ghost", "1", "1Mi"),
        &["invariant 1: ghost is not known, and its ledger says"],
    );
}

#[test]
fn it_finds_a_lost_promise() {
    finds(
        |ledger| remove_row(&ledger.path, "reservations", &reservation_key(1)),
        &["invariant 1: cpu on p: the ledger says 2000, the reservations sum up to 1000"],
    );
}

#[test]
fn it_finds_a_provider_that_is_gone_while_it_promises() {
    finds(
        |ledger| remove_row(&ledger.path, "advertisements", b"p"),
        &[&format!("invariant 1: {} lives on p, which is not known", id(1))],
    );
}

#[test]
fn it_finds_a_key_that_was_used_twice() {
    let copy = |ledger: &Ledger| {
        let key = Some("k".parse().unwrap());
        for number in [1, 2] {
            ledger.put_reservation(&Reservation { key: key.clone(), ..ledger.reservation(number) });
        }
    };
    let words = format!("invariant 6: {} and {} share an idempotency key", id(1), id(2));
    finds(copy, &[&words]);
}

#[test]
fn it_finds_a_promise_to_oneself() {
    let serve = |ledger: &Ledger| {
        let ask = rear_engine::testing::ask("p", resources("1", "1Mi"));
        ledger.put_reservation(&Reservation { ask, ..ledger.reservation(1) });
    };
    finds(serve, &["is a promise of p to itself"]);
}

#[test]
fn it_finds_an_old_copy_of_a_record() {
    let rewind = |ledger: &Ledger| {
        let ended = ledger.reservation(3);
        let live = ledger.reservation(1).phase;
        ledger.put_reservation(&Reservation { phase: live, ..ended });
        ledger.put_ledger("p", "3", "3Mi");
    };
    let words = format!("invariant 9: {} is Reserved, its last event says Released", id(3));
    finds(rewind, &[&words]);
}

#[test]
fn it_finds_records_that_are_cut_off_too_long_or_of_another_program() {
    let key = reservation_key(1);
    let put =
        |value: Vec<u8>| move |ledger: &Ledger| put_row(&ledger.path, "reservations", &key, &value);
    finds(put(b"short".to_vec()), &["is cut off"]);
    finds(put(sealed("reservations", &key, 200, b"new")), &["schema 200, which this program"]);
    let longer = |ledger: &Ledger| {
        let value = ledger.value("reservations", &key);
        let contents = [&value[10..], b"more"].concat();
        let value = sealed("reservations", &key, value[1], &contents);
        put_row(&ledger.path, "reservations", &key, &value);
    };
    finds(longer, &["does not have the shape of its schema"]);
    finds(
        |ledger| {
            put_row(&ledger.path, "reservations", b"odd", &sealed("reservations", b"odd", 1, b""));
        },
        &["table reservations, row odd"],
    );
}

fn event(number: u64, place: u32) -> [u8; 20] {
    event_key(EventId { position: Position { incarnation: 1, number }, place })
}

#[test]
fn it_finds_events_that_are_missing_not_yet_told_or_no_longer() {
    let lose = |ledger: &Ledger| {
        let value = ledger.value("events", &event(1, 0));
        let later = seal_again(&value, &event(1, 1));
        put_row(&ledger.path, "events", &event(1, 1), &later);
        remove_row(&ledger.path, "events", &event(1, 0));
    };
    finds(lose, &["event 1.1-0 is missing"]);
    let foresee = |ledger: &Ledger| {
        let value = ledger.value("events", &event(1, 0));
        put_row(&ledger.path, "events", &event(99, 0), &seal_again(&value, &event(99, 0)));
    };
    finds(foresee, &["event 1.99-0 is outside of the log, which goes from 0.0 to 1.6"]);
    let trim = |ledger: &Ledger| {
        let trimmed_through = Position { incarnation: 1, number: 1 };
        let meta = MetaRecord::from(Meta { trimmed_through, ..ledger.contents().meta });
        put_row(&ledger.path, "meta", meta::KEY, &seal(meta::KEY, &meta).unwrap());
    };
    finds(trim, &["event 1.1-0 is outside of the log, which goes from 1.1 to 1.6", "1 finding"]);
}

fn seal_again(value: &[u8], key: &[u8]) -> Vec<u8> {
    sealed("events", key, value[1], &value[10..])
}

#[test]
fn it_finds_what_is_from_the_future() {
    let ahead = |ledger: &Ledger| {
        let kept = ledger.reservation(1);
        let reserved_at = kept.reserved_at.plus("1h".parse().unwrap());
        ledger.put_reservation(&Reservation { reserved_at, ..kept });
    };
    finds(ahead, &[&format!("{} is 1h0m0s ahead of the ledger's last time", id(1))]);
}

#[test]
fn it_finds_a_ledger_that_does_not_know_itself() {
    finds(|ledger| remove_row(&ledger.path, "meta", b"meta"), &["meta cannot be read"]);
    let forget = |ledger: &Ledger| {
        let database = redb::Database::open(&ledger.path).unwrap();
        let transaction = database.begin_write().unwrap();
        let events = redb::TableDefinition::<&[u8], &[u8]>::new("events");
        assert!(transaction.delete_table(events).unwrap());
        transaction.commit().unwrap();
    };
    finds(forget, &["ledger.redb cannot be read"]);
}

#[test]
fn it_finds_a_file_that_was_cut() {
    let cut = |ledger: &Ledger| {
        let bytes = std::fs::read(&ledger.path).unwrap();
        std::fs::write(&ledger.path, &bytes[..bytes.len() / 2]).unwrap();
    };
    finds(cut, &["ledger.redb cannot be read"]);
}

/// Flips bits anywhere in the file: whatever is not found has not changed what the ledger says.
#[test]
fn it_finds_every_flipped_bit_that_matters() {
    let ledger = Ledger::new();
    let whole = std::fs::read(&ledger.path).unwrap();
    let expected = ledger.contents();
    let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
    let mut dice = Dice::new(5);
    let mut found = 0;
    for _ in 0..100 {
        let at = used[usize::try_from(dice.below(used.len() as u64)).unwrap()];
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << dice.below(8);
        std::fs::write(&ledger.path, &bytes).unwrap();
        let report = verify_file(&ledger.path).unwrap_or_else(|error| panic!("{at}: {error}"));
        if !report.findings.is_empty() {
            found += 1;
            continue;
        }
        assert_eq!(read_through(&ledger.path, &bytes), Some(expected.clone()), "byte {at}");
    }
    // Most of the file is pages that are no longer in use.
    assert!(found > 2, "{found}");
}

fn read_through(path: &Path, bytes: &[u8]) -> Option<Contents> {
    let copy = path.with_extension("copy");
    std::fs::write(&copy, bytes).unwrap();
    let journal = RedbJournal::open(&copy, Commit::TwoPhase);
    let contents = journal.ok().and_then(|journal| journal.load().ok());
    std::fs::remove_file(&copy).unwrap();
    contents
}

#[test]
fn a_report_of_much_damage_stays_readable() {
    let ledger = Ledger::new();
    let contents = ledger.contents();
    assert_eq!(contents.meta.time_mark, Timestamp::from_seconds(1_800_000_000));
    let database = redb::Database::open(&ledger.path).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let rows = redb::TableDefinition::<&[u8], &[u8]>::new("reservations");
        let mut table = transaction.open_table(rows).unwrap();
        for number in 0..1500_u128 {
            let key = key_of(ReservationId::from_bits(1 << 100 | number));
            table.insert(&key[..], &b"nonsense"[..]).unwrap();
        }
    }
    transaction.commit().unwrap();
    drop(database);
    let report = verify_file(&ledger.path).unwrap();
    assert_eq!((report.findings.len(), report.more), (1000, 500));
    assert!(report.to_string().ends_with("1500 findings, the first 1000 are shown"));
}
