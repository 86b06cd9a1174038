//! A ledger in memory: the same rows without a file. The model that the file is compared with.

use std::collections::BTreeMap;

use rear_engine::{Event, Timestamp};

use crate::journal::{Batch, Contents, Journal, JournalError};
use crate::position::Position;
use crate::records::Table;
use crate::records::meta::Meta;
use crate::rows::{
    ReadRows, Show, WriteRows, read_all, read_events_after, write_batch, write_meta,
};

type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

/// A ledger in memory.
#[derive(Debug, Clone)]
pub struct Memory {
    rows: Rows,
}

impl Memory {
    /// A new ledger.
    pub fn new(
        ledger: u128,
        incarnation: u64,
        recovered_through: u64,
    ) -> Result<Self, JournalError> {
        let mut memory = Self { rows: Rows::new() };
        let meta = Meta {
            ledger,
            position: Position::start_of(incarnation),
            recovered_through,
            time_mark: Timestamp::from_nanos(i64::MIN),
        };
        write_meta(&mut memory, meta)?;
        Ok(memory)
    }
}

impl Journal for Memory {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        // A copy, so that a batch that fails in the middle leaves nothing.
        let mut after = self.clone();
        write_batch(&mut after, batch)?;
        *self = after;
        Ok(())
    }

    fn load(&self) -> Result<Contents, JournalError> {
        read_all(self)
    }

    fn events_after(
        &self,
        position: Position,
        limit: usize,
    ) -> Result<Vec<(Position, Event)>, JournalError> {
        read_events_after(self, position, limit)
    }
}

impl ReadRows for Memory {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.rows.get(&(table.name(), key.to_vec())).cloned())
    }

    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError> {
        let rows = self.rows.range((table.name(), from.to_vec())..);
        for ((_, key), value) in rows.take_while(|((name, _), _)| *name == table.name()) {
            if !show(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

impl WriteRows for Memory {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError> {
        self.rows.insert((table.name(), key.to_vec()), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), JournalError> {
        self.rows.remove(&(table.name(), key.to_vec()));
        Ok(())
    }
}
