//! From older schemas to this one: one step for each number, all in one transaction.

use crate::journal::JournalError;
use crate::records::meta::{self, Meta, MetaRecord, MetaRecordV1};
use crate::records::seal::{open, schema_of};
use crate::records::{Sealed, Table};
use crate::rows::{ReadRows, WriteRows, write_meta};

/// The schema of ledgers that this program writes.
pub const SCHEMA: u8 = MetaRecord::SCHEMA;

type Step = fn(&mut dyn WriteRows) -> Result<(), JournalError>;

/// The step at place `n` leads from schema `n + 1` to the next.
const STEPS: [Step; SCHEMA as usize - 1] = [remember_what_was_trimmed];

/// The schema of a ledger.
pub(crate) fn schema(rows: &(impl ReadRows + ?Sized)) -> Result<u8, JournalError> {
    let bytes = rows.get(Table::Meta, meta::KEY)?;
    let bytes = bytes.ok_or(JournalError::Missing(Table::Meta.name()))?;
    Ok(schema_of(Table::Meta, meta::KEY, &bytes)?)
}

/// Brings a ledger from an older schema to this program's.
pub(crate) fn migrate(rows: &mut dyn WriteRows) -> Result<(), JournalError> {
    let from = schema(rows)?;
    let steps = STEPS.get(usize::from(from).saturating_sub(1)..).unwrap_or_default();
    steps.iter().try_for_each(|step| step(rows))
}

fn remember_what_was_trimmed(rows: &mut dyn WriteRows) -> Result<(), JournalError> {
    let bytes = rows.get(Table::Meta, meta::KEY)?;
    let bytes = bytes.ok_or(JournalError::Missing(Table::Meta.name()))?;
    write_meta(rows, Meta::from(open::<MetaRecordV1>(meta::KEY, &bytes)?))
}
