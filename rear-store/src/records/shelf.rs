//! A snapshot in a shared journal as it is written down: where its chunks are, and which entry it ends with.

use serde::{Deserialize, Serialize};

use super::SealError;
use super::seal::{open_in, seal_in};

const NAME: &str = "snapshot";
const SCHEMA: u8 = 1;

/// Where a snapshot is, and what it is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfRecord {
    /// The head after the last entry that is in it, sealed.
    pub head: Vec<u8>,
    /// The name under which its chunks are.
    pub upload: u128,
    /// How many chunks.
    pub chunks: u64,
    /// How many bytes, all in all.
    pub bytes: u64,
    /// When it was made, by the journal's time, in nanoseconds.
    pub at: i64,
}

impl ShelfRecord {
    /// Its bytes.
    pub fn seal(&self) -> Result<Vec<u8>, SealError> {
        seal_in(NAME, SCHEMA, NAME.as_bytes(), self)
    }

    /// The snapshot of these bytes.
    pub fn open(bytes: &[u8]) -> Result<Self, SealError> {
        open_in(NAME, SCHEMA, NAME.as_bytes(), bytes)
    }
}
