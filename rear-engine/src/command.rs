//! What the engine can be asked to decide, and on whose behalf.

use std::fmt;

use crate::advertisement::{Advertisement, Holding};
use crate::ask::Ask;
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::text::Line;
use crate::time::Timestamp;

/// Who acts. For clusters and administrators this is the name in the certificate of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A cluster, for itself.
    Cluster(ClusterId),
    /// An administrator, for anyone.
    Administrator(ClusterId),
    /// The broker itself: time has passed.
    Broker,
}

/// One thing to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A cluster says what it has, and what it holds if it says that too.
    Advertise {
        /// Which cluster.
        cluster: ClusterId,
        /// What it says of itself.
        advertisement: Box<Advertisement>,
        /// The promises that it keeps; `None` from agents that do not say.
        holding: Option<Vec<Holding>>,
    },
    /// A cluster says what it has, and more of what it holds follows: enter at most so many promises at once.
    Adopt {
        /// Which cluster.
        cluster: ClusterId,
        /// What it says of itself.
        advertisement: Box<Advertisement>,
        /// The promises that it keeps.
        holding: Vec<Holding>,
        /// How many of them one decision may enter.
        limit: usize,
    },
    /// A requester gave a sign of life.
    Hear {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// Find room and lock it.
    Reserve {
        /// The name of the reservation if it is granted.
        id: ReservationId,
        /// What is wanted.
        ask: Box<Ask>,
        /// What the client calls this intent.
        key: Option<IdempotencyKey>,
        /// Who asks.
        by: Actor,
    },
    /// The requester confirms use.
    Activate {
        /// Which reservation.
        id: ReservationId,
        /// Who says so.
        by: Actor,
    },
    /// Set a new end.
    Renew {
        /// Which reservation.
        id: ReservationId,
        /// The new end: absolute, so that a retry cannot extend twice.
        until: Timestamp,
        /// Who says so.
        by: Actor,
    },
    /// The provider will not keep it.
    Reject {
        /// Which reservation.
        id: ReservationId,
        /// Why, for the requester.
        reason: Line,
        /// Who says so.
        by: Actor,
    },
    /// Give it back.
    Release {
        /// Which reservation.
        id: ReservationId,
        /// Who says so.
        by: Actor,
    },
    /// End what is due, at most so many at once.
    Expire {
        /// How many endings one decision may hold.
        limit: usize,
    },
    /// Mark clusters whose advertisement is too old, at most so many at once.
    MarkStale {
        /// How many clusters one decision may hold.
        limit: usize,
    },
    /// Remember no longer what ended long ago, at most so many at once.
    Retire {
        /// How many reservations one decision may hold.
        limit: usize,
    },
    /// A cluster is gone for good.
    Forget {
        /// Which cluster.
        cluster: ClusterId,
        /// Who says so.
        by: Actor,
    },
    /// A cluster is going to be forgotten: end what is between it and others, at most so many at once.
    Clear {
        /// Which cluster.
        cluster: ClusterId,
        /// How many endings one decision may hold.
        limit: usize,
        /// Who says so.
        by: Actor,
    },
    /// After a restore: do not wait any longer for what a cluster holds.
    EndRecovery {
        /// Which cluster; `None` for all, also those that are not known yet.
        cluster: Option<ClusterId>,
        /// Who says so.
        by: Actor,
    },
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(id) => write!(f, "cluster {id}"),
            Self::Administrator(id) => write!(f, "administrator {id}"),
            Self::Broker => f.write_str("the broker"),
        }
    }
}
