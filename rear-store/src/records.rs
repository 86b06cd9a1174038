//! Records: how the domain is written down, and read back without trusting a byte of it.
//!
//! The shapes here are apart from the domain's types and from the wire's: they change only with a new
//! schema number, and every number that was ever written stays readable. Each file in this folder has
//! one shape and its two conversions; [`seal`] is the only place that knows the encoding.

pub mod ask;
pub mod cluster;
pub mod entry;
pub mod event;
pub mod handed;
pub mod head;
pub mod ledger;
pub mod meta;
pub mod reservation;
pub mod seal;
pub mod shelf;

use thiserror::Error;

pub use seal::{MAX_RECORD, SealError, Sealed};

/// The tables of a ledger. The name is part of every checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// What is remembered of each cluster.
    Advertisements,
    /// The sum of the live promises on each cluster.
    Ledger,
    /// Every reservation.
    Reservations,
    /// What happened.
    Events,
    /// What the ledger knows of itself.
    Meta,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 5] =
        [Self::Advertisements, Self::Ledger, Self::Reservations, Self::Events, Self::Meta];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advertisements => "advertisements",
            Self::Ledger => "ledger",
            Self::Reservations => "reservations",
            Self::Events => "events",
            Self::Meta => "meta",
        }
    }
}

/// Contents that were sealed properly and still make no sense: written by something that is not this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the record's {0} is not valid")]
pub struct InvalidField(pub &'static str);
