//! An entry: a batch with its place in a chain, and who made it.

use thiserror::Error;
use twox_hash::XxHash3_128;

use super::{Hash, Head};
use crate::journal::Batch;
use crate::position::Position;
use crate::records::entry::{EntryRecord, OLDEST, SCHEMA};
use crate::records::{InvalidField, SealError};

/// Names a batch for ever: whoever finds it in a place knows whose it is, also when the answer to its put was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// Which broker, by a name that is drawn anew with each start.
    pub broker: u128,
    /// Which of its batches.
    pub sequence: u64,
}

/// A batch in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who made it.
    pub id: BatchId,
    /// What it makes true.
    pub batch: Batch,
    /// Where the journal ends with it.
    pub head: Head,
}

/// Why bytes are not the entry that comes next.
#[derive(Debug, Error)]
pub enum EntryError {
    /// A newer program wrote it.
    #[error(
        "entry {position} was written by a newer version of this program (shape {schema}, this one knows up to {SCHEMA}): nothing was changed; start the newer version here as well"
    )]
    Newer {
        /// Which entry.
        position: Position,
        /// Its shape.
        schema: u8,
    },
    /// Another broker is so old that nothing can be written that it could read.
    #[error(
        "a broker that shares the ledger reads entries up to shape {schema} only, this one writes {OLDEST} and newer: start a newer version there first"
    )]
    TooOld {
        /// What it can read.
        schema: u8,
    },
    /// It is damaged.
    #[error("entry {position} cannot be read")]
    Sealed {
        /// Which entry.
        position: Position,
        /// What is wrong.
        source: SealError,
    },
    /// It makes no sense.
    #[error("entry {position} makes no sense")]
    Field {
        /// Which entry.
        position: Position,
        /// What is wrong with it.
        source: InvalidField,
    },
    /// It belongs to another ledger.
    #[error("entry {position} belongs to ledger {found:032x}, not to {expected:032x}")]
    OtherLedger {
        /// Which entry.
        position: Position,
        /// The ledger that is followed.
        expected: u128,
        /// The ledger of the entry.
        found: u128,
    },
    /// It does not follow what was followed so far: someone has gone back to an older state.
    #[error("entry {position} does not follow the entry before it as it was followed here")]
    Unlinked {
        /// Which entry.
        position: Position,
    },
    /// No more entries can be counted.
    #[error("the history is full")]
    Full,
}

/// The hash that the next entry names.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> Hash {
    XxHash3_128::oneshot(bytes)
}

impl Entry {
    /// Seals a batch as what follows `head`: its bytes, and where the journal ends with it.
    pub fn seal(head: &Head, id: BatchId, batch: &Batch) -> Result<(Vec<u8>, Head), EntryError> {
        Self::seal_for(SCHEMA, head, id, batch)
    }

    /// The same, in the newest shape that everyone can read.
    pub fn seal_for(
        schema: u8,
        head: &Head,
        id: BatchId,
        batch: &Batch,
    ) -> Result<(Vec<u8>, Head), EntryError> {
        let position = batch.position;
        let record = EntryRecord::of(batch, head.ledger, head.hash, id.broker, id.sequence);
        let bytes = record.seal(position, schema).map_err(|source| match source {
            SealError::Unknown { .. } => EntryError::TooOld { schema },
            source => EntryError::Sealed { position, source },
        })?;
        let after = Head {
            ledger: head.ledger,
            position,
            hash: hash_of(&bytes),
            time_mark: head.time_mark.max(batch.time_mark),
        };
        Ok((bytes, after))
    }

    /// Reads the entry that follows `head`, and nothing else.
    pub fn open_next(head: &Head, bytes: &[u8]) -> Result<Self, EntryError> {
        let position = head.position.next().ok_or(EntryError::Full)?;
        let record = EntryRecord::open(position, bytes).map_err(|source| match source {
            SealError::Unknown { schema, .. } => EntryError::Newer { position, schema },
            source => EntryError::Sealed { position, source },
        })?;
        if record.ledger != head.ledger {
            let (expected, found) = (head.ledger, record.ledger);
            return Err(EntryError::OtherLedger { position, expected, found });
        }
        if record.before != head.hash {
            return Err(EntryError::Unlinked { position });
        }
        let id = BatchId { broker: record.broker, sequence: record.sequence };
        let batch = record.into_batch(position);
        let batch = batch.map_err(|source| EntryError::Field { position, source })?;
        let head = Head {
            ledger: head.ledger,
            position,
            hash: hash_of(bytes),
            time_mark: head.time_mark.max(batch.time_mark),
        };
        Ok(Self { id, batch, head })
    }
}
