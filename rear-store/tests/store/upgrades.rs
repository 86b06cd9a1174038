//! Every format that was ever written to a disk or a journal, as committed files: this program opens it, or says what to do.
//!
//! With `BLESS=1` in the environment what is missing is written; what is there is never changed, so that a file is always what
//! the program of its day wrote.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rear_engine::Timestamp;
use rear_store::backup::{inspect, restore};
use rear_store::records::head::{open_applied, open_head, seal_applied, seal_head};
use rear_store::records::meta;
use rear_store::records::shelf::ShelfRecord;
use rear_store::shared::{BatchId, Entry, EntryError, Head};
use rear_store::verify::verify_file;
use rear_store::{Commit, Journal, Position, RedbJournal, SCHEMA};

use super::damage::{backup_of, put_row, rows_of, sealed, table};
use super::history::History;

/// Clusters and reservations of the committed ledgers.
const CLUSTERS: usize = 9;
const BATCHES: u64 = 12;

/// Of a committed file of a ledger, blocks of zeros are left out.
const BLOCK: usize = 32;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/golden").join(name)
}

/// The bytes of a fixture; where there is none, what `make` makes is written if that was asked for.
fn bytes_of(name: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path = fixture(name);
    if !path.exists() && std::env::var_os("BLESS").is_some() {
        fs::write(&path, sparse(&make())).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    dense(&text)
}

/// Its length, then a line for each run of blocks that are not all zeros: where it begins, and its bytes.
fn sparse(bytes: &[u8]) -> String {
    let mut text = format!("{}", bytes.len());
    let mut end = usize::MAX;
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        if end != number {
            write!(text, "\n{} ", number * BLOCK).unwrap();
        }
        end = number + 1;
        for byte in block {
            write!(text, "{byte:02x}").unwrap();
        }
    }
    text.push('\n');
    text
}

fn dense(text: &str) -> Vec<u8> {
    let mut lines = text.lines();
    let mut bytes = vec![0; lines.next().unwrap().parse().unwrap()];
    for line in lines {
        let (at, hex) = line.split_once(' ').unwrap();
        let at: usize = at.parse().unwrap();
        for place in 0..hex.len() / 2 {
            bytes[at + place] = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).unwrap();
        }
    }
    bytes
}

/// A ledger with a short history, of this schema.
fn ledger(path: &Path, schema: u8) {
    let mut history = History::new(1);
    let mut journal = RedbJournal::create(path, 9, Commit::TwoPhase).unwrap();
    for _ in 0..BATCHES {
        journal.commit(&history.next_batch()).unwrap();
    }
    journal.compact().unwrap();
    drop(journal);
    if schema == 1 {
        // The second schema has two numbers more, which are 0 as long as nothing was trimmed.
        let [(key, value)] = &table(path, "meta")[..] else { panic!("one row") };
        let contents = value[10..].strip_suffix(&[0, 0]).unwrap();
        put_row(path, "meta", key, &sealed("meta", meta::KEY, 1, contents));
    }
}

fn made_ledger(schema: u8) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    ledger(&path, schema);
    fs::read(path).unwrap()
}

fn made_backup(schema: u8) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    ledger(&path, schema);
    backup_of(&rows_of(&path))
}

#[test]
fn a_ledger_of_every_schema_opens_and_is_sound() {
    for schema in 1..=SCHEMA {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.redb");
        let bytes = bytes_of(&format!("file-schema-{schema}.sparse"), || made_ledger(schema));
        fs::write(&path, bytes).unwrap();
        let journal = RedbJournal::open(&path, Commit::TwoPhase).unwrap();
        let contents = journal.load().unwrap();
        let at = Position { incarnation: 1, number: BATCHES };
        assert_eq!((contents.meta.ledger, contents.meta.position), (9, at), "schema {schema}");
        assert_eq!(contents.clusters.len(), CLUSTERS);
        assert!(contents.reservations.len() > 10, "{}", contents.reservations.len());
        drop(journal);
        let report = verify_file(&path).unwrap();
        assert!(report.findings.is_empty(), "schema {schema}: {report}");
        // One that had to be changed is kept as it was, too.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1 + usize::from(schema < SCHEMA));
    }
}

#[test]
fn a_backup_of_every_schema_is_restored_and_sound() {
    for schema in 1..=SCHEMA {
        let folder = tempfile::tempdir().unwrap();
        let (backup, path) = (folder.path().join("backup"), folder.path().join("ledger.redb"));
        let bytes = bytes_of(&format!("backup-1-schema-{schema}.sparse"), || made_backup(schema));
        fs::write(&backup, bytes).unwrap();
        assert_eq!(inspect(&backup).unwrap().schema, schema);
        let restored = restore(&backup, &path, Timestamp::from_seconds(1_900_000_000)).unwrap();
        let at = Position { incarnation: 1, number: BATCHES };
        assert_eq!((restored.ledger, restored.backup, restored.clusters), (9, at, CLUSTERS));
        let report = verify_file(&path).unwrap();
        assert!(report.findings.is_empty(), "schema {schema}: {report}");
    }
}

fn head() -> Head {
    Head {
        ledger: 9,
        position: Position { incarnation: 7, number: 41 },
        hash: 0x0123_4567_89ab_cdef,
        time_mark: Timestamp::from_seconds(1_800_000_000),
    }
}

#[test]
fn what_a_shared_journal_holds_stays_readable() {
    let id = BatchId { broker: 5, sequence: 6 };
    let entry = bytes_of("entry-1.sparse", || {
        let mut history = History::new(1);
        let mut batch = history.next_batch();
        for _ in 0..4 {
            let next = history.next_batch();
            batch.changes.extend(next.changes);
            batch.events.extend(next.events);
        }
        batch.position = head().position.next().unwrap();
        batch.trim_through = Some(Position { incarnation: 7, number: 3 });
        Entry::seal(&head(), id, &batch).unwrap().0
    });
    let opened = Entry::open_next(&head(), &entry).unwrap();
    assert_eq!(opened.id, id);
    assert!(opened.batch.changes.len() > CLUSTERS && opened.batch.events.len() > 3);
    assert_eq!(opened.batch.trim_through, Some(Position { incarnation: 7, number: 3 }));
    let (again, after) = Entry::seal(&head(), id, &opened.batch).unwrap();
    assert_eq!((again, after), (entry, opened.head), "it is written as it always was");

    let bytes = bytes_of("head-1.sparse", || seal_head(&head()).unwrap());
    assert_eq!(open_head(&bytes), Ok(head()));
    assert_eq!(seal_head(&head()).unwrap(), bytes, "etcd compares its bytes");
    let bytes = bytes_of("applied-1.sparse", || seal_applied(&head()).unwrap());
    assert_eq!(open_applied(&bytes), Ok(head()));
    let shelf = ShelfRecord {
        head: seal_head(&head()).unwrap(),
        upload: 8,
        chunks: 3,
        bytes: 1_000_000,
        at: 1_800_000_000_000_000_000,
    };
    let bytes = bytes_of("shelf-1.sparse", || shelf.seal().unwrap());
    assert_eq!(ShelfRecord::open(&bytes), Ok(shelf));
}

#[test]
fn an_entry_of_a_newer_broker_is_refused_with_the_remedy() {
    let Head { position, .. } = head();
    let next = position.next().unwrap();
    let key = [next.incarnation.to_be_bytes(), next.number.to_be_bytes()].concat();
    let newer = sealed("journal", &key, 2, b"of the future");
    let refused = Entry::open_next(&head(), &newer).unwrap_err();
    assert!(matches!(refused, EntryError::Newer { schema: 2, .. }), "{refused}");
    assert!(refused.to_string().contains("start the newer version here as well"), "{refused}");
}

#[test]
fn what_is_newer_than_this_program_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (path, backup) = (folder.path().join("ledger.redb"), folder.path().join("backup"));
    ledger(&path, SCHEMA);
    put_row(&path, "meta", meta::KEY, &sealed("meta", meta::KEY, SCHEMA + 1, b"of the future"));
    let refused = RedbJournal::open(&path, Commit::TwoPhase).unwrap_err().to_string();
    assert!(refused.contains("start that version again"), "{refused}");
    fs::write(&backup, backup_of(&rows_of(&path))).unwrap();
    let again = folder.path().join("again.redb");
    let refused = restore(&backup, &again, Timestamp::from_seconds(1_900_000_000));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("with the version that wrote it"), "{refused}");
    fs::write(&backup, b"REAR ledger backup 2\nsomething else").unwrap();
    assert!(inspect(&backup).unwrap_err().to_string().contains("not a backup"));
}
