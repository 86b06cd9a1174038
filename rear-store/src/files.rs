//! Files that are there whole or not at all, readable by their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Advice;
use thiserror::Error;

/// A ledger is nobody's business but its broker's.
const OWNER_ONLY: u32 = 0o600;

/// Why a file cannot be created, opened or read.
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
    /// Written by a newer program.
    #[error("{} has schema {found}, this program knows up to {}: it was written by a newer version, and nothing was changed; start that version again, or restore a backup from before it", path.display(), crate::SCHEMA)]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: u8,
    },
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

impl FileError {
    pub(crate) fn damaged(
        path: &Path,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Damaged { path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<'_> {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

/// So many attempts at one file that were cut off need someone to look.
const MAX_LEFTOVERS: usize = 1000;

/// Makes a file under another name and gives it its own when it is complete and on the disk. What is
/// there already is not overwritten; what fails leaves nothing.
pub(crate) fn create_whole<T, E: From<FileError>>(
    path: &Path,
    fill: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    if path.exists() {
        return Err(FileError::Exists(path.to_owned()).into());
    }
    let (unfinished, empty) = unfinished_file(path)?;
    let made = fill(empty).and_then(|made| Ok((made, publish(&unfinished, path)?)));
    if made.is_err() {
        // The first error is the one to tell; the next try takes another name.
        drop(fs::remove_file(&unfinished));
    }
    made.map(|(made, ())| made)
}

/// The same path with something behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether there is certainly nothing of this name. What may not be looked at may be there: whoever opens it is told why that
/// fails.
#[must_use]
pub fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// A file that nobody else has: what has such a name already may be someone's who is still writing.
fn unfinished_file(path: &Path) -> Result<(PathBuf, File), FileError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(OWNER_ONLY);
    for number in 0..MAX_LEFTOVERS {
        let suffix = if number == 0 { ".new".to_owned() } else { format!(".new.{number}") };
        let name = with_suffix(path, &suffix);
        match options.open(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(FileError::io(&name)(error)),
        }
    }
    Err(FileError::Exists(with_suffix(path, ".new")))
}

/// Gives a finished file its name, so that it is there after a power cut or was never there.
fn publish(unfinished: &Path, path: &Path) -> Result<(), FileError> {
    let io = FileError::io(path);
    File::open(unfinished).and_then(|file| file.sync_all()).map_err(&io)?;
    // A hard link fails where a rename would overwrite what another process made in the meantime.
    fs::hard_link(unfinished, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => io(error),
    })?;
    fs::remove_file(unfinished).map_err(&io)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()).map_err(io)
}

/// What the disk has is what counts. After a sync that failed, the system's cache may hold pages that it
/// takes for written and that are not: they are dropped, and read again. What another process wrote and
/// did not sync is synced, so that nothing is shown that a power cut could take back.
pub(crate) fn trust_only_the_disk(path: &Path) -> Result<(), FileError> {
    let io = FileError::io(path);
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(&io)?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| io(error.into()))?;
    file.sync_data().map_err(&io)
}
