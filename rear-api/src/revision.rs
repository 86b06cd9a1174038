//! Where an answer stands in the history of the ledger: the header of every answer, and the ids of events.

pub use rear_engine::position::{EventId, Position};

/// The header that names the state which an answer was made from, as `INCARNATION.NUMBER`: a [`Position`].
pub const REVISION_HEADER: &str = "rear-revision";

/// The header of a request that names a state which the caller has seen, on whichever broker: the answer is made from it or
/// a later one.
pub const AT_LEAST_HEADER: &str = "rear-at-least";

/// The header of an answer from a broker that is cut off from those who share its ledger: how many seconds old it may be.
pub const STALE_HEADER: &str = "rear-stale";
