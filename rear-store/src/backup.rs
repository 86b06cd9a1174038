//! Backups: every row of one snapshot in one file, with a checksum over all of it.
//!
//! ```text
//! REAR ledger backup 1\n
//! rows        table (1 byte, from 1), length of key, length of value (4 bytes each, little endian), key, value
//! end         0 (1 byte), number of rows (8 bytes)
//! checksum    XXH3, 64 bits, over everything before it
//! ```
//!
//! Values are the sealed records of [`crate::records`], so each row is checked twice: alone, and as part of the
//! whole, so that no row can be missing.

mod inspect;
mod receive;
mod restore;
mod save;

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use thiserror::Error;
use twox_hash::XxHash3_64;

use crate::files::{FileError, create_whole};
use crate::journal::{JournalError, Reader};
use crate::records::seal::schema_of;
use crate::records::{MAX_RECORD, Table};
use crate::rows::ReadRows;

pub use inspect::{Inspected, inspect};
pub use receive::{ReceiveError, receive};
pub use restore::{RestoreError, Restored, restore};
pub use save::{SaveError, save};

const MAGIC: &[u8] = b"REAR ledger backup 1\n";

/// Ids and positions are far shorter.
const MAX_KEY: usize = 256;

/// What a backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How many rows.
    pub rows: u64,
    /// How many bytes, all in all.
    pub bytes: u64,
}

/// Why a backup cannot be written or read.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The ledger cannot be read.
    #[error("the ledger cannot be read")]
    Journal(#[from] JournalError),
    /// The backup cannot be written or read.
    #[error("the backup cannot be written or read")]
    Io(#[from] io::Error),
    /// It does not begin as a backup does.
    #[error("this is not a backup of a ledger")]
    NotABackup,
    /// It ends too early, or goes on where it should end.
    #[error("the backup is cut off or has something behind its end")]
    Incomplete,
    /// Something in it is not as it was written.
    #[error("the backup is damaged: its checksum does not match")]
    Damaged,
    /// A row is there twice, or before another that comes first: who reads it could take one or the other.
    #[error("the backup has rows twice or out of order: no broker has written it so")]
    Disordered,
}

/// Writes a backup to a new file, while commits go on. It has its name only when it is complete.
pub fn write_file(reader: &dyn Reader, path: &Path) -> Result<Summary, FileError> {
    let rows = reader.snapshot().map_err(|error| FileError::damaged(path, error))?;
    write_rows_file(&*rows, path)
}

fn write_rows_file(rows: &dyn ReadRows, path: &Path) -> Result<Summary, FileError> {
    create_whole(path, |file: File| {
        let mut out = BufWriter::new(file);
        let written = write_rows(rows, &mut out).and_then(|written| Ok((written, out.flush()?)));
        written.map(|(summary, ())| summary).map_err(|error| match error {
            BackupError::Io(source) => FileError::Io { path: path.to_owned(), source },
            other => FileError::damaged(path, other),
        })
    })
}

/// Writes a backup, while commits go on.
pub fn write(reader: &dyn Reader, out: &mut dyn Write) -> Result<Summary, BackupError> {
    write_rows(&*reader.snapshot()?, out)
}

pub(crate) fn write_rows(rows: &dyn ReadRows, out: &mut dyn Write) -> Result<Summary, BackupError> {
    let mut out = Checksummed::new(out);
    out.write(MAGIC)?;
    let mut count = 0_u64;
    for (number, table) in (1_u8..).zip(Table::ALL) {
        write_table(rows, table, number, &mut out, &mut count)?;
    }
    out.write(&[0])?;
    out.write(&count.to_le_bytes())?;
    let checksum = out.hasher.finish();
    out.write(&checksum.to_le_bytes())?;
    Ok(Summary { rows: count, bytes: out.bytes })
}

fn write_table(
    rows: &dyn ReadRows,
    table: Table,
    number: u8,
    out: &mut Checksummed<&mut dyn Write>,
    count: &mut u64,
) -> Result<(), BackupError> {
    let mut failed = None;
    rows.each_from(table, &[], &mut |key, value| {
        // A copy of damage would be found only on the day when it is needed.
        schema_of(table, key, value)?;
        *count += 1;
        let written = write_row(number, key, value, out);
        failed = written.err();
        Ok(failed.is_none())
    })?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

fn write_row(
    table: u8,
    key: &[u8],
    value: &[u8],
    out: &mut Checksummed<&mut dyn Write>,
) -> io::Result<()> {
    let length = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("a row is too long"));
        length.map(u32::to_le_bytes)
    };
    out.write(&[table])?;
    out.write(&length(key)?)?;
    out.write(&length(value)?)?;
    out.write(key)?;
    out.write(value)
}

/// One row of a backup.
pub(crate) struct Row {
    pub(crate) table: Table,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Reads the rows of a backup; whether they are all of them is known only at the end.
pub(crate) struct Rows<R> {
    input: Checksummed<R>,
    read: u64,
    /// The table and the key of the row before.
    last: Option<(u8, Vec<u8>)>,
}

impl<R: Read> Rows<R> {
    pub(crate) fn open(input: R) -> Result<Self, BackupError> {
        let mut input = Checksummed::new(input);
        let mut magic = [0; MAGIC.len()];
        input.read(&mut magic).map_err(|_| BackupError::NotABackup)?;
        if magic != MAGIC {
            return Err(BackupError::NotABackup);
        }
        Ok(Self { input, read: 0, last: None })
    }

    /// The next row; `None` when all were read and the checksum matches.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, BackupError> {
        let [number] = self.input.read_array::<1>()?;
        let Some(place) = usize::from(number).checked_sub(1) else {
            return self.end().map(|()| None);
        };
        let table = *Table::ALL.get(place).ok_or(BackupError::Damaged)?;
        let key_length = self.length(MAX_KEY)?;
        let value_length = self.length(MAX_RECORD)?;
        let mut row = Row { table, key: vec![0; key_length], value: vec![0; value_length] };
        self.input.read(&mut row.key)?;
        self.input.read(&mut row.value)?;
        let this = (number, row.key.clone());
        if self.last.as_ref().is_some_and(|last| *last >= this) {
            return Err(BackupError::Disordered);
        }
        self.last = Some(this);
        self.read += 1;
        Ok(Some(row))
    }

    fn length(&mut self, limit: usize) -> Result<usize, BackupError> {
        let length = u32::from_le_bytes(self.input.read_array()?) as usize;
        if length > limit { Err(BackupError::Damaged) } else { Ok(length) }
    }

    fn end(&mut self) -> Result<(), BackupError> {
        let count = u64::from_le_bytes(self.input.read_array()?);
        let expected = self.input.hasher.finish();
        let checksum = u64::from_le_bytes(self.input.read_array()?);
        if checksum != expected || count != self.read {
            return Err(BackupError::Damaged);
        }
        if self.input.inner.read(&mut [0])? > 0 {
            return Err(BackupError::Incomplete);
        }
        Ok(())
    }
}

/// Counts and hashes whatever passes.
struct Checksummed<T> {
    inner: T,
    hasher: XxHash3_64,
    bytes: u64,
}

impl<T> Checksummed<T> {
    fn new(inner: T) -> Self {
        Self { inner, hasher: XxHash3_64::with_seed(0), bytes: 0 }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<W: Write> Checksummed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)?;
        self.pass(bytes);
        Ok(())
    }
}

impl<R: Read> Checksummed<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<(), BackupError> {
        self.inner.read_exact(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => BackupError::Incomplete,
            _ => error.into(),
        })?;
        self.pass(into);
        Ok(())
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], BackupError> {
        let mut bytes = [0; N];
        self.read(&mut bytes)?;
        Ok(bytes)
    }
}
