//! A ledger row: the sum of the live promises on a cluster.

use rear_engine::Resources;
use serde::{Deserialize, Serialize};

use super::{InvalidField, Sealed, Table};

/// The sum of the live promises on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRecord {
    total: [u64; 4],
}

impl Sealed for LedgerRecord {
    const TABLE: Table = Table::Ledger;
    const SCHEMA: u8 = 1;
}

impl From<Resources> for LedgerRecord {
    fn from(total: Resources) -> Self {
        Self { total: total.amounts() }
    }
}

impl TryFrom<LedgerRecord> for Resources {
    type Error = InvalidField;

    fn try_from(record: LedgerRecord) -> Result<Self, InvalidField> {
        Self::from_amounts(record.total).map_err(|_| InvalidField("total"))
    }
}
