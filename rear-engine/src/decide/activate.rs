//! Activate: the requester confirms that it uses what was promised.

use std::sync::Arc;

use super::rights::{as_requester, still_live};
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::Fleet;
use crate::id::ReservationId;
use crate::refusal::Refusal;
use crate::reservation::{Phase, Reservation};
use crate::time::Timestamp;

pub(super) fn activate(
    fleet: &Fleet,
    id: ReservationId,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let reservation = as_requester(fleet, id, &by)?;
    still_live(fleet, reservation, now)?;
    let subject = Subject::Reservation(id);
    if matches!(reservation.phase, Phase::Active(_)) {
        return Ok(Decision::nothing(subject));
    }
    let activated = reservation.phase.clone().activated(now);
    let phase = activated.map_err(|_| Refusal::AlreadyEnded(id))?;
    let active = Reservation { phase, ..reservation.clone() };
    Ok(Decision {
        changes: vec![Change::Reservation(Arc::new(active))],
        events: vec![Event { at: now, subject: subject.clone(), what: Happening::Activated, by }],
        subject,
    })
}
