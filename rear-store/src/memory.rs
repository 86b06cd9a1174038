//! A ledger in memory: the same rows without a file. The model that the file is compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::journal::{Batch, Journal, JournalError, Reader};
use crate::records::Table;
use crate::records::meta::Meta;
use crate::rows::{ReadRows, Show, WriteRows, write_batch, write_meta};

/// Everything that is kept, by table and key.
#[derive(Debug, Clone, Default)]
struct Rows(BTreeMap<(&'static str, Vec<u8>), Vec<u8>>);

/// A ledger in memory. Clones are the same ledger.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    committed: Arc<RwLock<Arc<Rows>>>,
}

impl Memory {
    /// A new ledger.
    pub fn new(
        ledger: u128,
        incarnation: u64,
        recovered_through: u64,
    ) -> Result<Self, JournalError> {
        let memory = Self::default();
        let meta = Meta::of_new(ledger, incarnation, recovered_through);
        memory.write(|rows| write_meta(rows, meta))?;
        Ok(memory)
    }

    fn committed(&self) -> Arc<Rows> {
        self.committed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// In a copy, so that what fails in the middle leaves nothing.
    fn write(
        &self,
        write: impl FnOnce(&mut Rows) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut after = Rows::clone(&self.committed());
        write(&mut after)?;
        *self.committed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(())
    }
}

impl Journal for Memory {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.write(|rows| write_batch(rows, batch))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(self.clone())
    }
}

impl Reader for Memory {
    fn snapshot(&self) -> Result<Box<dyn ReadRows>, JournalError> {
        Ok(Box::new(self.committed()))
    }
}

impl ReadRows for Rows {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.0.get(&(table.name(), key.to_vec())).cloned())
    }

    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError> {
        let rows = self.0.range((table.name(), from.to_vec())..);
        for ((_, key), value) in rows.take_while(|((name, _), _)| *name == table.name()) {
            if !show(key, value)? {
                break;
            }
        }
        Ok(())
    }

    fn count(&self, table: Table) -> Result<usize, JournalError> {
        Ok(self.0.keys().filter(|(name, _)| *name == table.name()).count())
    }
}

impl ReadRows for Arc<Rows> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        Rows::get(self, table, key)
    }

    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError> {
        Rows::each_from(self, table, from, show)
    }

    fn count(&self, table: Table) -> Result<usize, JournalError> {
        Rows::count(self, table)
    }
}

impl WriteRows for Rows {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError> {
        self.0.insert((table.name(), key.to_vec()), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), JournalError> {
        self.0.remove(&(table.name(), key.to_vec()));
        Ok(())
    }
}
