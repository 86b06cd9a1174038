//! What several brokers on one ledger agree on, without a network: entries in a chain, who has won a place, what time it is.
//!
//! Everything here is pure. The journal in etcd calls it; so do the tests, without etcd.

mod entry;
mod standing;
mod time;
mod winners;

use rear_engine::Timestamp;

pub use entry::{BatchId, Entry, EntryError, hash_of};
pub use standing::{Fork, Place, Seen, judge_head, judge_place};
pub use time::{NEWCOMER_SLACK, SLACK, SharedTime, TICK};
pub use winners::{Origin, Winners};

use crate::position::Position;

/// The hash of an entry's bytes, or of what a journal began with.
pub type Hash = u128;

/// Where a journal ends: what every append compares, and what every file remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which ledger.
    pub ledger: u128,
    /// Its last entry.
    pub position: Position,
    /// The hash of that entry.
    pub hash: Hash,
    /// The time of that entry.
    pub time_mark: Timestamp,
}

/// The newest shape of entries that all of them can read: a newer one is written only when nobody is left that cannot.
#[must_use]
pub fn agreed_schema(own: u8, others: impl IntoIterator<Item = u8>) -> u8 {
    others.into_iter().fold(own, u8::min)
}
