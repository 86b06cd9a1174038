//! An independent check against the invariants, written without the code that it audits.
//!
//! [`books()`] looks at a state: do the ledgers and the reservations belong together? A [`Witness`] looks
//! at a history: was each decision allowed by what came before it? Neither uses the ledger arithmetic,
//! the filter or the phases' methods; they only read records.

pub mod books;
pub mod witness;

pub use books::{Books, books};
pub use witness::Witness;

use thiserror::Error;

use crate::id::{ClusterId, ReservationId};
use crate::resources::Dimension;

/// A broken invariant: which one, where, and the amounts. Numbers are those of DESIGN §6.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// Invariant 1: ledger = Σ of the live reservations.
    #[error("{dimension} on {cluster}: the ledger says {ledger}, the reservations sum up to {sum}")]
    LedgerMismatch {
        /// Where.
        cluster: ClusterId,
        /// In which dimension.
        dimension: Dimension,
        /// What the ledger says.
        ledger: u64,
        /// What the reservations say.
        sum: u128,
    },
    /// Invariant 1: a live reservation on a provider that has no ledger.
    #[error("{reservation} lives on {cluster}, which is not known")]
    NoLedger {
        /// Which one.
        reservation: ReservationId,
        /// Its provider.
        cluster: ClusterId,
    },
    /// Invariant 2: a grant left less than nothing.
    #[error("{reservation} was granted on {cluster}, which then had {available} {dimension} left")]
    GrantedTwice {
        /// Which one.
        reservation: ReservationId,
        /// Its provider.
        cluster: ClusterId,
        /// In which dimension.
        dimension: Dimension,
        /// What was left, below zero.
        available: i128,
    },
    /// Invariant 4: an ending without its capacity given back in the same decision, or the reverse.
    #[error("the ledger of {cluster} did not move with its reservations")]
    NotGivenBack {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// Invariant 4: a reservation ended as expired before its end.
    #[error("{reservation} expired before its end")]
    EndedEarly {
        /// Which one.
        reservation: ReservationId,
    },
    /// Invariant 5: phases only move forward, and a promise keeps its terms.
    #[error("{reservation} moved backwards or changed its terms")]
    Backwards {
        /// Which one.
        reservation: ReservationId,
    },
    /// Invariant 6: two reservations under one key of one requester.
    #[error("{first} and {second} share an idempotency key")]
    KeyShared {
        /// One.
        first: ReservationId,
        /// The other.
        second: ReservationId,
    },
    /// Invariant 7: an advertisement changed the ledger, or replaced a newer one.
    #[error("the advertisement of {cluster} did more than an advertisement may do")]
    Advertisement {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// A provider serves itself.
    #[error("{reservation} is a promise of {cluster} to itself")]
    SelfServed {
        /// Which one.
        reservation: ReservationId,
        /// Which cluster.
        cluster: ClusterId,
    },
}

impl Violation {
    /// Which invariant of DESIGN §6 is broken.
    #[must_use]
    pub const fn invariant(&self) -> u8 {
        match self {
            Self::LedgerMismatch { .. } | Self::NoLedger { .. } => 1,
            Self::GrantedTwice { .. } | Self::SelfServed { .. } => 2,
            Self::NotGivenBack { .. } | Self::EndedEarly { .. } => 4,
            Self::Backwards { .. } => 5,
            Self::KeyShared { .. } => 6,
            Self::Advertisement { .. } => 7,
        }
    }
}
