//! No file makes reading or restoring a backup panic, and what fails leaves nothing; what is restored can be opened and
//! verified.
#![no_main]

#[path = "../src/sealed.rs"]
mod sealed;

use std::fs;

use libfuzzer_sys::fuzz_target;
use rear_engine::Timestamp;
use rear_store::backup::{inspect, restore};
use rear_store::verify::verify_file;
use rear_store::{Commit, Journal, RedbJournal};
use sealed::{checksum, sealed};

const MAGIC: &[u8] = b"REAR ledger backup 1\n";
const TABLES: [&str; 5] = ["advertisements", "ledger", "reservations", "events", "meta"];

fuzz_target!(|bytes: &[u8]| {
    let Some((how, rest)) = bytes.split_first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (backup, ledger) = (folder.path().join("backup"), folder.path().join("ledger.redb"));
    let contents = match how % 3 {
        0 => rest.to_vec(),
        1 => whole([MAGIC, rest].concat()),
        _ => whole(rows(rest)),
    };
    fs::write(&backup, contents).expect("a file");
    let inspected = inspect(&backup);
    let restored = restore(&backup, &ledger, Timestamp::from_seconds(1_800_000_000));
    if restored.is_err() {
        assert!(!ledger.exists(), "what fails leaves nothing");
        return;
    }
    assert!(inspected.is_ok(), "what can be restored can be inspected");
    let report = verify_file(&ledger).expect("a ledger that was restored can be looked at");
    let journal = RedbJournal::open(&ledger, Commit::OnePhase).expect("and opened");
    assert!(journal.load().is_ok() || !report.findings.is_empty());
});

/// With the checksum that makes it look whole.
fn whole(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(checksum(&bytes));
    bytes
}

/// Rows with proper seals: a byte for the table and the schema, one for the length of the key, two for the contents'.
fn rows(mut bytes: &[u8]) -> Vec<u8> {
    let mut backup = MAGIC.to_vec();
    let mut count = 0_u64;
    while let [kind, key_length, low, high, rest @ ..] = bytes {
        let key_length = usize::from(*key_length).min(rest.len());
        let (key, rest) = rest.split_at(key_length);
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (contents, rest) = rest.split_at(length);
        let table = usize::from(kind % 5);
        let value = sealed(TABLES[table], key, 1 + kind / 5 % 3, contents);
        backup.push(kind % 5 + 1);
        for part in [key, &value] {
            backup.extend(u32::try_from(part.len()).expect("short").to_le_bytes());
        }
        backup.extend(key);
        backup.extend(value);
        count += 1;
        bytes = rest;
    }
    backup.push(0);
    backup.extend(count.to_le_bytes());
    backup
}
