//! The tables of the file as rows: keys and values are bytes, their meaning is in [`crate::records`].

use redb::{ReadTransaction, ReadableTable, TableDefinition, WriteTransaction};

use super::{guarded, storage};
use crate::journal::JournalError;
use crate::records::Table;
use crate::rows::{ReadRows, Show, WriteRows};

type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

fn definition(table: Table) -> Definition {
    TableDefinition::new(table.name())
}

/// The tables in one snapshot.
pub(super) struct Reading {
    /// In the order of [`Table::ALL`].
    tables: Vec<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl Reading {
    pub(super) fn new(transaction: &ReadTransaction) -> Result<Self, JournalError> {
        let mut tables = Vec::with_capacity(Table::ALL.len());
        for table in Table::ALL {
            tables.push(transaction.open_table(definition(table)).map_err(storage)?);
        }
        Ok(Self { tables })
    }
}

/// The tables in one write transaction.
pub(super) struct Writing<'t> {
    /// In the order of [`Table::ALL`].
    tables: Vec<redb::Table<'t, &'static [u8], &'static [u8]>>,
}

impl<'t> Writing<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction) -> Result<Self, JournalError> {
        let mut tables = Vec::with_capacity(Table::ALL.len());
        for table in Table::ALL {
            tables.push(transaction.open_table(definition(table)).map_err(storage)?);
        }
        Ok(Self { tables })
    }
}

/// Where a table is while it is written anew.
const ASIDE: Definition = TableDefinition::new("aside");

/// Writes every row anew, in its order. Pages that were split stay half full otherwise, however often redb moves them.
pub(super) fn write_anew(transaction: &WriteTransaction) -> Result<(), JournalError> {
    for table in Table::ALL {
        transaction.rename_table(definition(table), ASIDE).map_err(storage)?;
        copy(transaction, definition(table))?;
        transaction.delete_table(ASIDE).map_err(storage)?;
    }
    Ok(())
}

fn copy(transaction: &WriteTransaction, to: Definition) -> Result<(), JournalError> {
    let rows = transaction.open_table(ASIDE).map_err(storage)?;
    let mut anew = transaction.open_table(to).map_err(storage)?;
    for row in rows.iter().map_err(storage)? {
        let (key, value) = row.map_err(storage)?;
        anew.insert(key.value(), value.value()).map_err(storage)?;
    }
    Ok(())
}

fn get(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, JournalError> {
    let value = table.get(key).map_err(storage)?;
    Ok(value.map(|value| value.value().to_vec()))
}

fn each_from(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    from: &[u8],
    show: Show<'_>,
) -> Result<(), JournalError> {
    for row in table.range(from..).map_err(storage)? {
        let (key, value) = row.map_err(storage)?;
        if !show(key.value(), value.value())? {
            break;
        }
    }
    Ok(())
}

fn count(table: &impl ReadableTable<&'static [u8], &'static [u8]>) -> Result<usize, JournalError> {
    let rows = table.len().map_err(storage)?;
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}

impl ReadRows for Reading {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        guarded(|| get(&self.tables[table as usize], key))
    }

    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError> {
        guarded(|| each_from(&self.tables[table as usize], from, show))
    }

    fn count(&self, table: Table) -> Result<usize, JournalError> {
        count(&self.tables[table as usize])
    }
}

impl ReadRows for Writing<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        get(&self.tables[table as usize], key)
    }

    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError> {
        each_from(&self.tables[table as usize], from, show)
    }

    fn count(&self, table: Table) -> Result<usize, JournalError> {
        count(&self.tables[table as usize])
    }
}

impl WriteRows for Writing<'_> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError> {
        self.tables[table as usize].insert(key, value).map_err(storage)?;
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), JournalError> {
        self.tables[table as usize].remove(key).map_err(storage)?;
        Ok(())
    }
}
