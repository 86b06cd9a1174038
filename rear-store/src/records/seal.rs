//! The seal of a record: format, schema, checksum, contents.
//!
//! ```text
//! byte 0      format: how the rest is laid out and encoded
//! byte 1      schema: which shape the contents have
//! bytes 2-9   checksum (XXH3, 64 bits, little endian) over table, key, format, schema and contents
//! bytes 10-   contents, in bincode
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use twox_hash::XxHash3_64;

use super::Table;

/// No honest record is larger: a body on the wire has at most as many bytes.
pub const MAX_RECORD: usize = 1 << 20;

/// What may be claimed while reading: a small number takes one byte in a record and eight in memory.
const MAX_IN_MEMORY: usize = 8 * MAX_RECORD;

const FORMAT: u8 = 1;
const HEADER: usize = 10;

/// A shape that can be sealed: which table it belongs to, and which schema it has.
pub trait Sealed: Serialize + DeserializeOwned {
    /// The table of such records.
    const TABLE: Table;
    /// The number of this shape; a changed shape has another.
    const SCHEMA: u8;
}

/// Why a record cannot be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SealError {
    /// Too large to be written or read.
    #[error("a record of table {table} has {length} bytes, the limit is {MAX_RECORD}")]
    TooLarge {
        /// Which table.
        table: &'static str,
        /// How many bytes.
        length: usize,
    },
    /// Shorter than a header.
    #[error("a record of table {table} is cut off")]
    CutOff {
        /// Which table.
        table: &'static str,
    },
    /// The bytes are not what was written.
    #[error("a record of table {table} is damaged: its checksum does not match")]
    Damaged {
        /// Which table.
        table: &'static str,
    },
    /// Written by a newer program.
    #[error(
        "a record of table {table} has format {format} and schema {schema}, which this program cannot read"
    )]
    Unknown {
        /// Which table.
        table: &'static str,
        /// Its format.
        format: u8,
        /// Its schema.
        schema: u8,
    },
    /// Sealed properly, and still not of its shape.
    #[error("a record of table {table} does not have the shape of its schema")]
    Shape {
        /// Which table.
        table: &'static str,
    },
}

/// Writes a record for this key.
pub fn seal<R: Sealed>(key: &[u8], record: &R) -> Result<Vec<u8>, SealError> {
    seal_in(R::TABLE.name(), R::SCHEMA, key, record)
}

/// Writes a record for this key of something that is like a table, and is none of a file's.
pub(super) fn seal_in(
    table: &'static str,
    schema: u8,
    key: &[u8],
    record: &impl Serialize,
) -> Result<Vec<u8>, SealError> {
    let contents = bincode::serde::encode_to_vec(record, encoding())
        .map_err(|_| SealError::Shape { table })?;
    let length = HEADER + contents.len();
    if length > MAX_RECORD {
        return Err(SealError::TooLarge { table, length });
    }
    let mut bytes = Vec::with_capacity(length);
    bytes.extend([FORMAT, schema]);
    bytes.extend(checksum(table, key, FORMAT, schema, &contents).to_le_bytes());
    bytes.extend(contents);
    Ok(bytes)
}

/// Reads the record of this key.
pub fn open<R: Sealed>(key: &[u8], bytes: &[u8]) -> Result<R, SealError> {
    open_in(R::TABLE.name(), R::SCHEMA, key, bytes)
}

/// Reads what [`seal_in`] wrote.
pub(super) fn open_in<R: DeserializeOwned>(
    table: &'static str,
    expected: u8,
    key: &[u8],
    bytes: &[u8],
) -> Result<R, SealError> {
    let (schema, contents) = unseal(table, key, bytes)?;
    if schema != expected {
        return Err(SealError::Unknown { table, format: FORMAT, schema });
    }
    match bincode::serde::decode_from_slice(contents, encoding()) {
        Ok((record, read)) if read == contents.len() => Ok(record),
        Ok(_) | Err(_) => Err(SealError::Shape { table }),
    }
}

/// Which schema the record of this key has.
pub fn schema_of(table: Table, key: &[u8], bytes: &[u8]) -> Result<u8, SealError> {
    unseal(table.name(), key, bytes).map(|(schema, _)| schema)
}

/// The schema and the contents, if the bytes are what was written.
fn unseal<'b>(
    table: &'static str,
    key: &[u8],
    bytes: &'b [u8],
) -> Result<(u8, &'b [u8]), SealError> {
    if bytes.len() > MAX_RECORD {
        return Err(SealError::TooLarge { table, length: bytes.len() });
    }
    let (&[format, schema, ref kept @ ..], contents) =
        bytes.split_first_chunk::<HEADER>().ok_or(SealError::CutOff { table })?;
    // The checksum first: what it does not cover says nothing, not even which schema it has.
    if u64::from_le_bytes(*kept) != checksum(table, key, format, schema, contents) {
        return Err(SealError::Damaged { table });
    }
    if format != FORMAT {
        return Err(SealError::Unknown { table, format, schema });
    }
    Ok((schema, contents))
}

fn encoding() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<MAX_IN_MEMORY>()
}

/// Lengths are part of it, so that no byte can move from one field to the next unnoticed.
fn checksum(table: &str, key: &[u8], format: u8, schema: u8, contents: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = XxHash3_64::with_seed(0);
    for field in [table.as_bytes(), key, &[format, schema], contents] {
        hasher.write(&(field.len() as u64).to_le_bytes());
        hasher.write(field);
    }
    hasher.finish()
}
