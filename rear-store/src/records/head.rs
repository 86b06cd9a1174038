//! Where a shared journal ends, as it is written down: in etcd as its head, in a broker's file as what was applied.

use rear_engine::Timestamp;
use serde::{Deserialize, Serialize};

use super::seal::{open_in, seal, seal_in};
use super::{SealError, Sealed, Table};
use crate::position::Position;
use crate::shared::Head;

/// The name in the checksum of a head, and its key.
const NAME: &str = "head";

/// The shape of heads that this program writes and reads.
const SCHEMA: u8 = 1;

/// The key, beside that of what a ledger knows of itself, of the entry that a file ends with.
pub const APPLIED_KEY: &[u8] = b"applied";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct HeadRecord {
    ledger: u128,
    incarnation: u64,
    number: u64,
    hash: u128,
    time_mark: i64,
}

/// What of a journal a file has applied, and whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedRecord(HeadRecord);

impl Sealed for AppliedRecord {
    const TABLE: Table = Table::Meta;
    const SCHEMA: u8 = SCHEMA;
}

/// A head's bytes: the same head has always the same, so that etcd can compare them.
pub fn seal_head(head: &Head) -> Result<Vec<u8>, SealError> {
    seal_in(NAME, SCHEMA, NAME.as_bytes(), &HeadRecord::from(*head))
}

/// The head of these bytes.
pub fn open_head(bytes: &[u8]) -> Result<Head, SealError> {
    open_in::<HeadRecord>(NAME, SCHEMA, NAME.as_bytes(), bytes).map(Into::into)
}

/// The row of a file that says what of a journal it has applied.
pub fn seal_applied(head: &Head) -> Result<Vec<u8>, SealError> {
    seal(APPLIED_KEY, &AppliedRecord((*head).into()))
}

/// What that row says.
pub fn open_applied(bytes: &[u8]) -> Result<Head, SealError> {
    super::seal::open::<AppliedRecord>(APPLIED_KEY, bytes).map(|AppliedRecord(head)| head.into())
}

impl From<Head> for HeadRecord {
    fn from(head: Head) -> Self {
        let Head { ledger, position: Position { incarnation, number }, hash, time_mark } = head;
        Self { ledger, incarnation, number, hash, time_mark: time_mark.as_nanos() }
    }
}

impl From<HeadRecord> for Head {
    fn from(record: HeadRecord) -> Self {
        let HeadRecord { ledger, incarnation, number, hash, time_mark } = record;
        Self {
            ledger,
            position: Position { incarnation, number },
            hash,
            time_mark: Timestamp::from_nanos(time_mark),
        }
    }
}
