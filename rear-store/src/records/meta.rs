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
    /// Events of this commit and all before it are gone.
    pub trimmed_through: Position,
}

impl Meta {
    /// A ledger in which nothing has happened yet.
    #[must_use]
    pub const fn of_new(ledger: u128, incarnation: u64, recovered_through: u64) -> Self {
        Self {
            ledger,
            position: Position::start_of(incarnation),
            recovered_through,
            time_mark: Timestamp::from_nanos(i64::MIN),
            trimmed_through: Position::start_of(0),
        }
    }
}

/// The same, as it is written down. Its schema is that of the whole ledger: whatever changes in any
/// record, this number grows, and `migrate.rs` has a step that leads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRecord {
    ledger: u128,
    incarnation: u64,
    number: u64,
    recovered_through: u64,
    time_mark: i64,
    trimmed_incarnation: u64,
    trimmed_number: u64,
}

impl Sealed for MetaRecord {
    const TABLE: Table = Table::Meta;
    const SCHEMA: u8 = 2;
}

impl From<Meta> for MetaRecord {
    fn from(meta: Meta) -> Self {
        let Meta { ledger, position, recovered_through, time_mark, trimmed_through } = meta;
        let Position { incarnation, number } = position;
        Self {
            ledger,
            incarnation,
            number,
            recovered_through,
            time_mark: time_mark.as_nanos(),
            trimmed_incarnation: trimmed_through.incarnation,
            trimmed_number: trimmed_through.number,
        }
    }
}

impl From<MetaRecord> for Meta {
    fn from(record: MetaRecord) -> Self {
        Self {
            ledger: record.ledger,
            position: Position { incarnation: record.incarnation, number: record.number },
            recovered_through: record.recovered_through,
            time_mark: Timestamp::from_nanos(record.time_mark),
            trimmed_through: Position {
                incarnation: record.trimmed_incarnation,
                number: record.trimmed_number,
            },
        }
    }
}

/// The first schema: events were kept for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRecordV1 {
    ledger: u128,
    incarnation: u64,
    number: u64,
    recovered_through: u64,
    time_mark: i64,
}

impl Sealed for MetaRecordV1 {
    const TABLE: Table = Table::Meta;
    const SCHEMA: u8 = 1;
}

impl From<MetaRecordV1> for Meta {
    fn from(record: MetaRecordV1) -> Self {
        let MetaRecordV1 { ledger, incarnation, number, recovered_through, time_mark } = record;
        Self {
            position: Position { incarnation, number },
            time_mark: Timestamp::from_nanos(time_mark),
            ..Self::of_new(ledger, incarnation, recovered_through)
        }
    }
}
