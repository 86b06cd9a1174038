//! A ledger in a redb file: one write transaction for each batch, durable when it returns.

mod file;
mod tables;

use rear_engine::{Event, Timestamp};
use redb::{Database, Durability, ReadableDatabase, StorageBackend};

use crate::journal::{Batch, Contents, Journal, JournalError};
use crate::position::Position;
use crate::records::meta::Meta;
use crate::rows::{read_all, read_events_after, write_batch, write_meta};
use tables::{Reading, Writing};

pub use file::FileError;

/// How a commit reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Commit {
    /// Two syncs: a torn write can never be taken for a commit, whatever is in the file. The default.
    #[default]
    TwoPhase,
    /// One sync: a commit is told from a torn write by checksums, which an attacker with access to the
    /// records' contents might forge. Faster.
    OnePhase,
}

/// A ledger in a redb file.
#[derive(Debug)]
pub struct RedbJournal {
    database: Database,
    commit: Commit,
}

impl RedbJournal {
    /// A ledger on any storage that redb can use: how crashes are tested. A storage that holds no
    /// ledger yet gets a new one.
    pub fn on_backend(
        backend: impl StorageBackend,
        ledger: u128,
        commit: Commit,
    ) -> Result<Self, JournalError> {
        let database = Database::builder().create_with_backend(backend).map_err(storage)?;
        let mut journal = Self { database, commit };
        if !journal.holds_a_ledger()? {
            journal.initialise(ledger)?;
        }
        Ok(journal)
    }

    fn holds_a_ledger(&self) -> Result<bool, JournalError> {
        let transaction = self.database.begin_read().map_err(storage)?;
        let mut tables = transaction.list_tables().map_err(storage)?;
        Ok(tables.next().is_some())
    }

    fn initialise(&mut self, ledger: u128) -> Result<(), JournalError> {
        let first = rear_engine::fleet::FIRST_INCARNATION;
        let meta = Meta {
            ledger,
            position: Position::start_of(first),
            recovered_through: first,
            time_mark: Timestamp::from_nanos(i64::MIN),
        };
        self.write(|rows| write_meta(rows, meta))
    }

    /// One durable transaction. What fails leaves nothing: the transaction is dropped, which aborts it.
    fn write(
        &mut self,
        write: impl FnOnce(&mut Writing<'_>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut transaction = self.database.begin_write().map_err(storage)?;
        transaction.set_durability(Durability::Immediate).map_err(storage)?;
        transaction.set_two_phase_commit(self.commit == Commit::TwoPhase);
        transaction.set_quick_repair(self.commit == Commit::TwoPhase);
        write(&mut Writing::new(&transaction)?)?;
        transaction.commit().map_err(storage)
    }

    fn reading(&self) -> Result<Reading, JournalError> {
        Reading::new(&self.database.begin_read().map_err(storage)?)
    }
}

impl Journal for RedbJournal {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.write(|rows| write_batch(rows, batch))
    }

    fn load(&self) -> Result<Contents, JournalError> {
        read_all(&self.reading()?)
    }

    fn events_after(
        &self,
        position: Position,
        limit: usize,
    ) -> Result<Vec<(Position, Event)>, JournalError> {
        read_events_after(&self.reading()?, position, limit)
    }
}

/// Every error of redb is an error of the file.
fn storage(error: impl Into<redb::Error>) -> JournalError {
    JournalError::Storage(Box::new(error.into()))
}
