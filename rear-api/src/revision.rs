//! Where an answer stands in the history of the ledger: the header of every answer, and the ids of events.

pub use rear_engine::position::{EventId, Position};

/// The header that names the state which an answer was made from, as `INCARNATION.NUMBER`: a [`Position`].
pub const REVISION_HEADER: &str = "REAR-Revision";
