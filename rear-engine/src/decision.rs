//! A decision as data: what changes and what is told. Someone else applies it.

use std::sync::Arc;

use crate::advertisement::Order;
use crate::command::Actor;
use crate::fleet::ClusterRecord;
use crate::id::{ClusterId, ReservationId};
use crate::reservation::{Ending, Reservation};
use crate::resources::Resources;
use crate::time::Timestamp;

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What the caller asked about.
    pub subject: Subject,
    /// What to make true, in this order; empty when all is as it should be.
    pub changes: Vec<Change>,
    /// What to tell.
    pub events: Vec<Event>,
}

/// What a decision or an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One reservation.
    Reservation(ReservationId),
    /// One cluster.
    Cluster(ClusterId),
    /// Whatever was due.
    Fleet,
}

/// One fact that becomes true. Values are absolute, so that applying one needs no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A cluster is as in this record.
    Cluster(Box<ClusterRecord>),
    /// A cluster said the same as before.
    Refreshed {
        /// Which cluster.
        cluster: ClusterId,
        /// When, by the broker's clock.
        at: Timestamp,
        /// When, by its own.
        timestamp: Timestamp,
        /// Its own count.
        order: Option<Order>,
        /// Whether it must survive a restart; most need not.
        durable: bool,
    },
    /// A requester gave a sign of life.
    Heard {
        /// Which cluster.
        cluster: ClusterId,
        /// When.
        at: Timestamp,
        /// Whether it must survive a restart; most need not.
        durable: bool,
    },
    /// A reservation is as here.
    Reservation(Arc<Reservation>),
    /// The sum of the live promises on a cluster, after the reservations before it in the list.
    Ledger {
        /// Which cluster.
        cluster: ClusterId,
        /// The sum.
        total: Resources,
    },
    /// A cluster is gone, with its ledger, which is empty.
    Forgotten(ClusterId),
    /// A reservation that had ended is no longer remembered.
    Dropped(ReservationId),
    /// After a restore: nothing else is waited for from incarnations up to this one.
    RecoveryEnded {
        /// Which one.
        incarnation: u64,
    },
}

/// Something that happened, told in the same transaction as what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What about.
    pub subject: Subject,
    /// What.
    pub what: Happening,
    /// By whom.
    pub by: Actor,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A cluster says something new of itself.
    Advertised,
    /// Capacity was locked.
    Reserved,
    /// The requester uses it.
    Activated,
    /// It has a new end.
    Renewed,
    /// It was given back.
    Ended(Ending),
    /// After a restore, a promise that only its provider knew, or its later end, is in the ledger again.
    Adopted,
    /// A cluster has not advertised for too long.
    BecameStale,
    /// It advertises again.
    BecameFresh,
    /// A cluster has promised or used more than it has.
    BecameOvercommitted,
    /// It has enough again.
    NoLongerOvercommitted,
    /// After a restore, it is known what a cluster holds.
    Recovered,
    /// A cluster is gone for good.
    Forgotten,
}

impl Decision {
    /// Nothing to do.
    #[must_use]
    pub fn nothing(subject: Subject) -> Self {
        Self { subject, changes: Vec::new(), events: Vec::new() }
    }

    /// Whether anything of it must survive a restart.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        !self.events.is_empty() || self.changes.iter().any(Change::is_durable)
    }
}

impl Change {
    /// Whether it must survive a restart.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        match self {
            Self::Refreshed { durable, .. } | Self::Heard { durable, .. } => *durable,
            Self::Cluster(_)
            | Self::Reservation(_)
            | Self::Ledger { .. }
            | Self::Forgotten(_)
            | Self::Dropped(_)
            | Self::RecoveryEnded { .. } => true,
        }
    }
}
