//! Release: the requester or an administrator gives capacity back; repeating it is fine.

use super::ending::Endings;
use super::rights::{Side, visible};
use crate::command::Actor;
use crate::decision::{Decision, Subject};
use crate::fleet::Fleet;
use crate::id::ReservationId;
use crate::refusal::Refusal;
use crate::reservation::{Ending, Release};
use crate::time::Timestamp;

pub(super) fn release(
    fleet: &Fleet,
    id: ReservationId,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (reservation, side) = visible(fleet, id, &by)?;
    let why = match side {
        Side::Requester => Release::ByRequester,
        Side::Administrator => Release::ByAdministrator,
        Side::Provider => {
            return Err(Refusal::NotAllowed { allowed: "the requester or an administrator" });
        }
    };
    let subject = Subject::Reservation(id);
    if !reservation.phase.is_live() {
        return Ok(Decision::nothing(subject));
    }
    let mut endings = Endings::new(fleet, by, now);
    endings.end(reservation, Ending::Released(why))?;
    Ok(endings.decide(subject))
}
