//! What a ledger knows of itself.

use rear_engine::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Sealed, Table};
use crate::position::Position;

/// The only key of its table.
pub const KEY: &[u8] = b"meta";

/// What a ledger knows of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Which ledger this is, for ever.
    pub ledger: u128,
    /// The last commit.
    pub position: Position,
    /// Every cluster is known to hold nothing else from incarnations up to this one.
    pub recovered_through: u64,
    /// The latest time that was given out.
    pub time_mark: Timestamp,
}

/// The same, as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRecord {
    ledger: u128,
    incarnation: u64,
    number: u64,
    recovered_through: u64,
    time_mark: i64,
}

impl Sealed for MetaRecord {
    const TABLE: Table = Table::Meta;
    const SCHEMA: u8 = 1;
}

impl From<Meta> for MetaRecord {
    fn from(meta: Meta) -> Self {
        let Meta { ledger, position, recovered_through, time_mark } = meta;
        let Position { incarnation, number } = position;
        Self { ledger, incarnation, number, recovered_through, time_mark: time_mark.as_nanos() }
    }
}

impl From<MetaRecord> for Meta {
    fn from(record: MetaRecord) -> Self {
        let MetaRecord { ledger, incarnation, number, recovered_through, time_mark } = record;
        Self {
            ledger,
            position: Position { incarnation, number },
            recovered_through,
            time_mark: Timestamp::from_nanos(time_mark),
        }
    }
}
