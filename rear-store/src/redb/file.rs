//! The file of a ledger: created whole or not at all, open in one process at a time, brought to this program's schema.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase};

use super::tables::Reading;
use super::{Commit, RedbJournal, guarded, look_into, storage};
use crate::backup;
use crate::files::{FileError, create_whole, is_missing, trust_only_the_disk, with_suffix};
use crate::glass::Glass;
use crate::journal::{Journal, JournalError};
use crate::migrate::{self, SCHEMA};
use crate::rows::ReadRows;

impl RedbJournal {
    /// Makes a new ledger. It appears under its name only when it is complete and on the disk.
    pub fn create(path: &Path, ledger: u128, commit: Commit) -> Result<Self, FileError> {
        Self::create_with(path, commit, |journal| {
            journal.initialise(ledger).map_err(|error| unusable(path, error))
        })?;
        Self::open(path, commit)
    }

    /// Makes a new file that someone else fills.
    pub(crate) fn create_with<T, E: From<FileError>>(
        path: &Path,
        commit: Commit,
        fill: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        create_whole(path, |file| {
            let database = Database::builder().create_file(file);
            let database = database.map_err(|error| opening(path, error))?;
            fill(&mut Self { database: Arc::new(database), commit, path: None })
        })
    }

    /// Opens a ledger that is there. One of an older schema is brought to this program's, after a backup;
    /// one of a newer schema is not touched.
    pub fn open(path: &Path, commit: Commit) -> Result<Self, FileError> {
        if is_missing(path) {
            return Err(FileError::Missing(path.to_owned()));
        }
        trust_only_the_disk(path)?;
        refuse_newer(path)?;
        let database = guarded(|| Ok(Database::open(path)))
            .map_err(|error| unusable(path, error))?
            .map_err(|error| opening(path, error))?;
        let path_kept = Some(path.to_owned());
        let mut journal = Self { database: Arc::new(database), commit, path: path_kept };
        let schema = journal.schema().map_err(|error| unusable(path, error))?;
        check_schema(path, schema)?;
        if schema < SCHEMA {
            journal.upgrade(path, schema)?;
        }
        Ok(journal)
    }

    fn schema(&self) -> Result<u8, JournalError> {
        migrate::schema(&*self.reader().snapshot()?)
    }

    fn upgrade(&mut self, path: &Path, from: u8) -> Result<(), FileError> {
        let copy = free_name(path, from);
        backup::write_file(&*self.reader(), &copy)?;
        self.write(migrate::migrate).map_err(|error| unusable(path, error))
    }
}

/// Looks without writing: opening for writing changes the file.
fn refuse_newer(path: &Path) -> Result<(), FileError> {
    let opened = guarded(|| Ok(ReadOnlyDatabase::open(path)));
    let schema = match opened.map_err(|error| unusable(path, error))? {
        Ok(database) => guarded(|| {
            let reading = Reading::new(&database.begin_read().map_err(storage)?)?;
            migrate::schema(&reading as &dyn ReadRows)
        }),
        // It was not closed, and has to be repaired before it can be read: first only as if.
        Err(DatabaseError::RepairAborted) => {
            look_into(Glass::over(path)?, |rows| migrate::schema(rows)).flatten()
        }
        Err(error) => return Err(opening(path, error)),
    };
    check_schema(path, schema.map_err(|error| unusable(path, error))?)
}

fn check_schema(path: &Path, found: u8) -> Result<(), FileError> {
    if found > SCHEMA { Err(FileError::Newer { path: path.to_owned(), found }) } else { Ok(()) }
}

/// A name for the backup before an upgrade; earlier ones are kept.
fn free_name(path: &Path, schema: u8) -> PathBuf {
    let names = (0..).map(|number| {
        let number = if number == 0 { String::new() } else { format!(".{number}") };
        with_suffix(path, &format!(".schema-{schema}{number}.backup"))
    });
    names.into_iter().find(|name| !name.exists()).unwrap_or_else(|| with_suffix(path, ".backup"))
}

fn opening(path: &Path, error: DatabaseError) -> FileError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => FileError::InUse(path.to_owned()),
        other => unusable(path, storage(other)),
    }
}

/// The disk's fault, or the file's.
fn unusable(path: &Path, error: JournalError) -> FileError {
    match error {
        JournalError::Disk(source) => FileError::Io { path: path.to_owned(), source },
        other => FileError::damaged(path, other),
    }
}
