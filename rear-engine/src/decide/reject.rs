//! Reject: the provider will not keep a promise, and says why.

use super::ending::Endings;
use super::rights::{as_provider, still_live};
use crate::command::Actor;
use crate::decision::{Decision, Subject};
use crate::fleet::Fleet;
use crate::id::ReservationId;
use crate::refusal::Refusal;
use crate::reservation::{Ending, Failed, Failure, Phase};
use crate::text::Line;
use crate::time::Timestamp;

pub(super) fn reject(
    fleet: &Fleet,
    id: ReservationId,
    reason: Line,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let reservation = as_provider(fleet, id, &by)?;
    let subject = Subject::Reservation(id);
    if matches!(reservation.phase, Phase::Failed(Failed { why: Failure::Rejected(_), .. })) {
        return Ok(Decision::nothing(subject));
    }
    still_live(fleet, reservation, now)?;
    let mut endings = Endings::new(fleet, by, now);
    endings.end(reservation, Ending::Failed(Failure::Rejected(reason)))?;
    Ok(endings.decide(subject))
}
