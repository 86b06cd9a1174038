//! Retire: what ended long ago is remembered no longer, so that the ledger does not grow for ever.

use crate::decision::{Change, Decision, Subject};
use crate::duration::Duration;
use crate::fleet::Fleet;
use crate::time::Timestamp;

/// Drops at most `limit` reservations, those that ended first. Nobody is told: nothing has happened.
pub(super) fn retire(fleet: &Fleet, limit: usize, now: Timestamp) -> Decision {
    let age = fleet.policy().remembered_for();
    let oldest = now.plus(Duration::from_nanos(-age.as_nanos()));
    let mut decision = Decision::nothing(Subject::Fleet);
    let dropped = fleet.timeline().over_since(oldest).take(limit);
    decision.changes.extend(dropped.map(Change::Dropped));
    decision
}
