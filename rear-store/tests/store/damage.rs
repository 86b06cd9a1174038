//! Damage, planted by hand: rows written past the store, with and without a proper seal.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use twox_hash::XxHash3_64;

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

/// Table by table, in the order of the format.
pub(crate) const TABLES: [&str; 5] = ["advertisements", "ledger", "reservations", "events", "meta"];

pub(crate) type Rows = BTreeMap<(usize, Vec<u8>), Vec<u8>>;

pub(crate) fn put_row(path: &Path, table: &str, key: &[u8], value: &[u8]) {
    change(path, table, |table| {
        table.insert(key, value).unwrap();
    });
}

pub(crate) fn remove_row(path: &Path, table: &str, key: &[u8]) {
    change(path, table, |table| {
        assert!(table.remove(key).unwrap().is_some());
    });
}

fn change(
    path: &Path,
    table: &str,
    change: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>),
) {
    let database = Database::open(path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&mut transaction.open_table(Definition::new(table)).unwrap());
    transaction.commit().unwrap();
}

pub(crate) fn rows_of(path: &Path) -> Rows {
    let database = Database::open(path).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut rows = Rows::new();
    for (number, name) in TABLES.iter().enumerate() {
        let table = transaction.open_table(Definition::new(name)).unwrap();
        for row in table.iter().unwrap() {
            let (key, value) = row.unwrap();
            rows.insert((number, key.value().to_vec()), value.value().to_vec());
        }
    }
    rows
}

/// The rows of one table.
pub(crate) fn table(path: &Path, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let wanted = TABLES.iter().position(|table| *table == name).unwrap();
    let rows = rows_of(path).into_iter().filter(|((table, _), _)| *table == wanted);
    rows.map(|((_, key), value)| (key, value)).collect()
}

/// A record with a proper seal and any contents: the format, written down a second time.
pub(crate) fn sealed(table: &str, key: &[u8], schema: u8, contents: &[u8]) -> Vec<u8> {
    let mut hasher = XxHash3_64::with_seed(0);
    for field in [table.as_bytes(), key, &[1, schema], contents] {
        hasher.write(&(field.len() as u64).to_le_bytes());
        hasher.write(field);
    }
    [&[1, schema][..], &hasher.finish().to_le_bytes(), contents].concat()
}

/// A backup of any rows: the format, written down a second time.
pub(crate) fn backup_of(rows: &Rows) -> Vec<u8> {
    let mut bytes = b"REAR ledger backup 1\n".to_vec();
    for ((table, key), value) in rows {
        bytes.push(u8::try_from(table + 1).unwrap());
        for part in [key, value] {
            bytes.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
        }
        bytes.extend(key);
        bytes.extend(value);
    }
    bytes.push(0);
    bytes.extend((rows.len() as u64).to_le_bytes());
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(&bytes);
    bytes.extend(hasher.finish().to_le_bytes());
    bytes
}
