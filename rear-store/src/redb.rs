//! A ledger in a redb file: one write transaction for each batch, durable when it returns.

mod file;
mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, StorageBackend, WriteTransaction};

use crate::journal::{Batch, Journal, JournalError, Reader};
use crate::records::Table;
use crate::records::meta::Meta;
use crate::rows::{ReadRows, WriteRows, write_batch, write_meta};
use crate::steps::step;
use tables::{Reading, Writing, write_anew};

pub use crate::files::FileError;

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

/// A file that is not worth the time to make it smaller.
const SMALL_FILE: u64 = 2 << 20;

/// About how long an event is as a row.
const EVENT_BYTES: u64 = 80;

/// A ledger in a redb file.
#[derive(Debug)]
pub struct RedbJournal {
    database: Arc<Database>,
    commit: Commit,
    /// Where it is; unknown on a storage that a test brings along.
    path: Option<PathBuf>,
}

/// Reads a redb file. The file stays open until the last reader is gone.
#[derive(Debug, Clone)]
struct RedbReader(Arc<Database>);

impl RedbJournal {
    /// A ledger on any storage that redb can use: how crashes are tested. A storage that holds no
    /// ledger yet gets a new one.
    pub fn on_backend(
        backend: impl StorageBackend,
        ledger: u128,
        commit: Commit,
    ) -> Result<Self, JournalError> {
        let database =
            guarded(|| Database::builder().create_with_backend(backend).map_err(storage))?;
        let mut journal = Self { database: Arc::new(database), commit, path: None };
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
        self.write(|rows| write_meta(rows, Meta::of_new(ledger, first, first)))
    }

    /// Makes the file as small as it can be. Nothing happens while someone reads it.
    pub fn compact(&mut self) -> Result<(), JournalError> {
        // Whoever reads already keeps it as it is; the next start will do.
        let careful = self.commit == Commit::TwoPhase;
        let Some(database) = Arc::get_mut(&mut self.database) else { return Ok(()) };
        guarded(|| {
            let transaction = begin(database, Durability::Immediate, careful)?;
            write_anew(&transaction)?;
            transaction.commit().map_err(storage)?;
            database.compact().map(drop).map_err(storage)
        })
    }

    /// One durable transaction. What fails leaves nothing: the transaction is dropped, which aborts it.
    pub(crate) fn write<T>(
        &mut self,
        write: impl FnOnce(&mut dyn WriteRows) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.write_as(Durability::Immediate, write)
    }

    /// One transaction that everyone sees and that a crash may take back, with all after it: for what is durable elsewhere.
    #[cfg(feature = "etcd")]
    pub(crate) fn write_soon<T>(
        &mut self,
        write: impl FnOnce(&mut dyn WriteRows) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.write_as(Durability::None, write)
    }

    fn write_as<T>(
        &mut self,
        durability: Durability,
        write: impl FnOnce(&mut dyn WriteRows) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        guarded(|| {
            let now = matches!(durability, Durability::Immediate);
            let careful = now && self.commit == Commit::TwoPhase;
            let transaction = begin(&self.database, durability, careful)?;
            let written = write(&mut Writing::new(&transaction)?)?;
            step!("written");
            transaction.commit().map_err(storage)?;
            Ok(written)
        })
    }
}

fn begin(
    database: &Database,
    durability: Durability,
    careful: bool,
) -> Result<WriteTransaction, JournalError> {
    let mut transaction = database.begin_write().map_err(storage)?;
    transaction.set_durability(durability).map_err(storage)?;
    transaction.set_two_phase_commit(careful);
    transaction.set_quick_repair(careful);
    Ok(transaction)
}

impl Journal for RedbJournal {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.write(|rows| write_batch(rows, batch))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(RedbReader(self.database.clone()))
    }

    /// redb doubles a file that is full, and never halves it.
    fn shrink_to(&mut self, bytes: u64) -> Result<(), JournalError> {
        let Some(path) = &self.path else { return Ok(()) };
        let length = std::fs::metadata(path).map_err(JournalError::Disk)?.len();
        let events = self.reader().snapshot()?.count(Table::Events)? as u64;
        let needed = bytes + events * EVENT_BYTES;
        if length <= SMALL_FILE || length <= needed + needed / 2 {
            return Ok(());
        }
        self.compact()
    }
}

impl Reader for RedbReader {
    fn snapshot(&self) -> Result<Box<dyn ReadRows>, JournalError> {
        let reading = guarded(|| Reading::new(&self.0.begin_read().map_err(storage)?))?;
        Ok(Box::new(reading))
    }
}

/// Whether the checksums match that redb keeps of its pages.
pub(crate) fn is_sound(backend: impl StorageBackend) -> Result<bool, JournalError> {
    guarded(|| {
        let mut database = Database::builder().create_with_backend(backend).map_err(storage)?;
        database.check_integrity().map_err(storage)
    })
}

/// Shows the rows of a database on any storage.
pub(crate) fn look_into<T>(
    backend: impl StorageBackend,
    look: impl FnOnce(&dyn ReadRows) -> T,
) -> Result<T, JournalError> {
    guarded(|| {
        let database = Database::builder().create_with_backend(backend).map_err(storage)?;
        let reading = Reading::new(&database.begin_read().map_err(storage)?)?;
        Ok(look(&reading))
    })
}

/// redb panics over some damaged files: that is an error like any other.
fn guarded<T>(operation: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
    catch_unwind(AssertUnwindSafe(operation)).unwrap_or_else(|_| {
        Err(JournalError::Storage("redb gave up on it: the log says where".into()))
    })
}

/// Every error of redb is an error of the disk or of the file.
fn storage(error: impl Into<redb::Error>) -> JournalError {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    match error.into() {
        // These two are how redb says that a file is none of its own, or cut off.
        redb::Error::Io(error) if !matches!(error.kind(), InvalidData | UnexpectedEof) => {
            JournalError::Disk(error)
        }
        error => JournalError::Storage(Box::new(error)),
    }
}
