//! The file of a ledger: created whole or not at all, readable by its owner alone, open in one process at a time.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use redb::{Database, DatabaseError};
use thiserror::Error;

use super::{Commit, RedbJournal};
use crate::journal::JournalError;

/// A ledger is nobody's business but its broker's.
const OWNER_ONLY: u32 = 0o600;

/// Why the file of a ledger cannot be created or opened.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is one already.
    #[error("{} exists already and is not overwritten", .0.display())]
    Exists(PathBuf),
    /// There is none.
    #[error("there is no ledger at {}", .0.display())]
    Missing(PathBuf),
    /// Another process has it open.
    #[error("{} is open in another process: is a second broker running on the same data?", .0.display())]
    InUse(PathBuf),
    /// It is damaged, or not a ledger.
    #[error("{} is not a ledger, or it is damaged", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file system says no.
    #[error("{}: the file system refuses", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

impl RedbJournal {
    /// Makes a new ledger. It appears under its name only when it is complete and on the disk.
    pub fn create(path: &Path, ledger: u128, commit: Commit) -> Result<Self, FileError> {
        if path.exists() {
            return Err(FileError::Exists(path.to_owned()));
        }
        let unfinished = unfinished_name(path);
        let made = make(&unfinished, ledger, commit).and_then(|()| publish(&unfinished, path));
        if made.is_err() {
            // The first error is the one to tell; what is left over is overwritten by the next try.
            drop(fs::remove_file(&unfinished));
        }
        made?;
        Self::open(path, commit)
    }

    /// Opens a ledger that is there.
    pub fn open(path: &Path, commit: Commit) -> Result<Self, FileError> {
        if !path.exists() {
            return Err(FileError::Missing(path.to_owned()));
        }
        let database = Database::open(path).map_err(|error| opening(path, error))?;
        let journal = Self { database, commit };
        let damaged = |source: JournalError| FileError::Damaged {
            path: path.to_owned(),
            source: Box::new(source),
        };
        let reading = journal.reading().map_err(damaged)?;
        crate::rows::read_meta(&reading).map_err(damaged)?;
        Ok(journal)
    }
}

fn unfinished_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn make(path: &Path, ledger: u128, commit: Commit) -> Result<(), FileError> {
    let io = |source| FileError::Io { path: path.to_owned(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(OWNER_ONLY);
    let file = options.open(path).map_err(io)?;
    // The mode above counts only for a file that was not there.
    file.set_permissions(fs::Permissions::from_mode(OWNER_ONLY)).map_err(io)?;
    let database = Database::builder().create_file(file).map_err(|error| opening(path, error))?;
    let mut journal = RedbJournal { database, commit };
    journal
        .initialise(ledger)
        .map_err(|source| FileError::Damaged { path: path.to_owned(), source: Box::new(source) })
}

/// Gives a finished file its name, so that it is there after a power cut or was never there.
fn publish(unfinished: &Path, path: &Path) -> Result<(), FileError> {
    let io = |source| FileError::Io { path: path.to_owned(), source };
    File::open(unfinished).and_then(|file| file.sync_all()).map_err(io)?;
    // A hard link fails where a rename would overwrite what another process made in the meantime.
    fs::hard_link(unfinished, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => io(error),
    })?;
    fs::remove_file(unfinished).map_err(io)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()).map_err(io)
}

fn opening(path: &Path, error: DatabaseError) -> FileError {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen => FileError::InUse(path),
        other => FileError::Damaged { path, source: Box::new(redb::Error::from(other)) },
    }
}
