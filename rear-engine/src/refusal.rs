//! Why a command was refused: typed, in order of precedence, with the numbers, and whether trying again can help.

use std::fmt;

use thiserror::Error;

use crate::advertisement::Order;
use crate::duration::Duration;
use crate::id::{ClusterId, ReservationId};
use crate::ledger::LedgerError;
use crate::price::{Currency, Price};
use crate::resources::Dimension;

/// A refusal explains itself with at most this many clusters: the closest ones.
pub const MAX_OBSTACLES: usize = 100;

/// Why a command was refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such reservation for whoever asks.
    #[error("there is no reservation {0}")]
    UnknownReservation(ReservationId),
    /// There is no such cluster for whoever asks.
    #[error("there is no cluster {0}")]
    UnknownCluster(ClusterId),
    /// Only the other side or an administrator may do this.
    #[error("only {allowed} may do this")]
    NotAllowed {
        /// Who may.
        allowed: &'static str,
    },
    /// The same key was used for another request.
    #[error("the idempotency key was used before, for another request (reservation {0})")]
    KeyReused(ReservationId),
    /// The id was given to another reservation.
    #[error("reservation {0} exists already")]
    IdTaken(ReservationId),
    /// The requester has as many reservations as the operator allows.
    #[error(
        "this requester has {limit} reservations, live or ended and remembered, which is as many as this broker allows"
    )]
    TooManyReservations {
        /// How many may be.
        limit: usize,
    },
    /// More is reported as consumed than is allocated: no promise can be argued away.
    #[error("consumed {dimension} exceeds what is allocated ({})", dimension.quantity(*allocated))]
    ConsumedBeyondAllocated {
        /// Where.
        dimension: Dimension,
        /// What is allocated there.
        allocated: u64,
    },
    /// A newer advertisement is known.
    #[error("a newer advertisement of this cluster is known")]
    Outdated {
        /// The count of the one that is kept.
        kept: Option<Order>,
    },
    /// The reservation has ended, or its time is over.
    #[error("reservation {0} has ended")]
    AlreadyEnded(ReservationId),
    /// The duration exceeds what the operator allows.
    #[error("the longest duration that this broker grants is {0}")]
    TooLong(Duration),
    /// A new end that has passed already.
    #[error("the new end must lie in the future")]
    EndHasPassed,
    /// A promise is not prolonged on a provider that may be gone.
    #[error("the provider {0} has not been heard of for too long")]
    ProviderStale(ClusterId),
    /// After a restore, the provider may know better what was agreed on.
    #[error("since the ledger was restored, the provider {0} has not said what it holds")]
    ProviderRecovering(ClusterId),
    /// A promise is not prolonged on a provider that has promised too much.
    #[error("the provider {0} is overcommitted")]
    ProviderOvercommitted(ClusterId),
    /// The sum of all promises on a cluster would not fit.
    #[error("the ledger of {cluster} cannot hold this")]
    Ledger {
        /// Which cluster.
        cluster: ClusterId,
        /// What is wrong.
        source: LedgerError,
    },
    /// Nobody has room.
    #[error("{0}")]
    NoRoom(NoRoom),
}

/// Nobody has room: for each cluster that was considered, what was missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoRoom {
    /// The closest clusters first, at most [`MAX_OBSTACLES`].
    pub candidates: Vec<Obstacle>,
    /// How many clusters were considered in all.
    pub considered: usize,
}

/// What is missing on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Which cluster.
    pub cluster: ClusterId,
    /// The first reason, in the order of [`Reason`].
    pub reason: Reason,
}

/// Why a cluster is not chosen, in the order in which reasons are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The target is not known to the broker.
    Unknown,
    /// Nobody borrows from itself.
    Own,
    /// After a restore, the cluster has not yet said what it holds.
    Recovering,
    /// Its advertisement is too old.
    Stale,
    /// It has promised or used more than it has.
    Overcommitted,
    /// A dimension does not fit.
    Lacks {
        /// Which one.
        dimension: Dimension,
        /// How much is needed.
        requested: u64,
        /// How much is free.
        available: u64,
    },
    /// A required label is absent or has another value.
    LacksLabel {
        /// Its key.
        key: String,
        /// The value that is wanted.
        value: String,
    },
    /// A ceiling was given, and the cluster names no price in that currency.
    Unpriced(Currency),
    /// It costs more than the ceiling.
    TooExpensive {
        /// What it costs for an hour.
        price: Price,
        /// The most that it may cost.
        ceiling: Price,
    },
}

impl Refusal {
    /// Whether the same command may succeed later without anyone changing it.
    #[must_use]
    pub const fn may_pass_later(&self) -> bool {
        match self {
            Self::UnknownReservation(_)
            | Self::UnknownCluster(_)
            | Self::NotAllowed { .. }
            | Self::KeyReused(_)
            | Self::IdTaken(_)
            | Self::ConsumedBeyondAllocated { .. }
            | Self::Outdated { .. }
            | Self::AlreadyEnded(_)
            | Self::TooLong(_)
            | Self::EndHasPassed => false,
            Self::TooManyReservations { .. }
            | Self::ProviderStale(_)
            | Self::ProviderRecovering(_)
            | Self::ProviderOvercommitted(_)
            | Self::Ledger { .. }
            | Self::NoRoom(_) => true,
        }
    }
}

impl Reason {
    /// A stable word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Own => "own-cluster",
            Self::Recovering => "recovering",
            Self::Stale => "stale",
            Self::Overcommitted => "overcommitted",
            Self::Lacks { .. } => "insufficient",
            Self::LacksLabel { .. } => "label",
            Self::Unpriced(_) => "unpriced",
            Self::TooExpensive { .. } => "too-expensive",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("is not known"),
            Self::Own => f.write_str("is the requester itself"),
            Self::Recovering => f.write_str("has not yet said what it holds after a restore"),
            Self::Stale => f.write_str("has not advertised for too long"),
            Self::Overcommitted => f.write_str("is overcommitted"),
            Self::Lacks { dimension, requested, available } => {
                let requested = dimension.quantity(*requested);
                let available = dimension.quantity(*available);
                write!(f, "needs {requested} {dimension}, {available} free")
            }
            Self::LacksLabel { key, value } => write!(f, "lacks the label {key}={value}"),
            Self::Unpriced(currency) => write!(f, "names no price in {currency}"),
            Self::TooExpensive { price, ceiling } => {
                write!(f, "costs {price} an hour, the ceiling is {ceiling}")
            }
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cluster, self.reason)
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.considered, self.candidates.first()) {
            (0, _) | (_, None) => f.write_str("no cluster advertises capacity"),
            (1, Some(only)) => write!(f, "the only cluster does not fit: {only}"),
            (count, Some(closest)) => {
                write!(f, "none of {count} clusters fits; the closest: {closest}")
            }
        }
    }
}
