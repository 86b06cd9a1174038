//! Inspect: a backup read from beginning to end, to be sure that it is whole, and to say what is in it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::{BackupError, Row, Rows, Summary};
use crate::journal::JournalError;
use crate::migrate::SCHEMA;
use crate::records::Table;
use crate::records::meta::{self, Meta, MetaRecord};
use crate::records::seal::{open, schema_of};

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// How much.
    pub summary: Summary,
    /// How many rows of each table.
    pub tables: Vec<(&'static str, u64)>,
    /// The schema of the ledger.
    pub schema: u8,
    /// What the ledger knows of itself; unknown if it is of another schema than this program's.
    pub meta: Option<Meta>,
}

/// Reads all of a backup.
pub fn inspect(path: &Path) -> Result<Inspected, BackupError> {
    let mut rows = Rows::open(BufReader::new(File::open(path)?))?;
    let mut tables = Table::ALL.map(|table| (table.name(), 0));
    let mut of_itself = None;
    while let Some(row) = rows.next()? {
        let count = tables.iter_mut().find(|(name, _)| *name == row.table.name());
        count.ok_or(BackupError::Damaged)?.1 += 1;
        if row.table == Table::Meta && row.key == meta::KEY {
            of_itself = Some(read_meta(&row)?);
        }
    }
    let missing = JournalError::Missing(Table::Meta.name());
    let (schema, meta) = of_itself.ok_or(missing)?;
    let summary = Summary { rows: rows.read, bytes: rows.input.bytes };
    Ok(Inspected { summary, tables: tables.into(), schema, meta })
}

fn read_meta(row: &Row) -> Result<(u8, Option<Meta>), JournalError> {
    let schema = schema_of(Table::Meta, meta::KEY, &row.value)?;
    let known = schema == SCHEMA;
    let meta = known.then(|| open::<MetaRecord>(&row.key, &row.value).map(Meta::from));
    Ok((schema, meta.transpose()?))
}
