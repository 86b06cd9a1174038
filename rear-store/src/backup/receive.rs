//! Receive: a backup that comes as a stream, into a file that has its name only when all of it is there.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use thiserror::Error;

use super::{BackupError, Rows, Summary};
use crate::files::{FileError, create_whole};

/// Why there is no file.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The file cannot be made.
    #[error("the snapshot cannot be kept")]
    File(#[from] FileError),
    /// What came is not a whole backup.
    #[error("what was received is not a whole snapshot")]
    Backup(#[from] BackupError),
}

/// Copies a backup to a new file, and looks at every row and the checksum on the way.
pub fn receive(from: impl Read, path: &Path) -> Result<Summary, ReceiveError> {
    create_whole(path, |file: File| {
        let mut rows = Rows::open(Copied { from, to: BufWriter::new(file) })?;
        while rows.next()?.is_some() {}
        rows.input.inner.to.flush().map_err(BackupError::Io)?;
        Ok(Summary { rows: rows.read, bytes: rows.input.bytes })
    })
}

/// Writes what is read from it.
struct Copied<R> {
    from: R,
    to: BufWriter<File>,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.to.write_all(&into[..read])?;
        Ok(read)
    }
}
