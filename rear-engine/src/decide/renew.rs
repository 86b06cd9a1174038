//! Renew: the requester names a new end, absolute, so that a retry cannot extend twice.

use super::rights::{as_requester, still_live};
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::Fleet;
use crate::id::ReservationId;
use crate::refusal::Refusal;
use crate::reservation::Reservation;
use crate::time::Timestamp;

pub(super) fn renew(
    fleet: &Fleet,
    id: ReservationId,
    until: Timestamp,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let reservation = as_requester(fleet, id, &by)?;
    still_live(fleet, reservation, now)?;
    if until <= now {
        return Err(Refusal::EndHasPassed);
    }
    let longest = fleet.policy().longest_duration();
    if until.since(now) > longest {
        return Err(Refusal::TooLong(longest));
    }
    let subject = Subject::Reservation(id);
    if reservation.expires_at == Some(until) {
        return Ok(Decision::nothing(subject));
    }
    provider_can_keep(fleet, reservation, now)?;
    let renewed = Reservation { expires_at: Some(until), ..reservation.clone() };
    Ok(Decision {
        changes: vec![Change::Reservation(Box::new(renewed))],
        events: vec![Event { at: now, subject: subject.clone(), what: Happening::Renewed, by }],
        subject,
    })
}

/// A promise is not prolonged where it may already be broken.
fn provider_can_keep(
    fleet: &Fleet,
    reservation: &Reservation,
    now: Timestamp,
) -> Result<(), Refusal> {
    let provider = &reservation.provider;
    let cluster = fleet
        .cluster(provider)
        .filter(|cluster| fleet.is_fresh(cluster.record(), now))
        .ok_or_else(|| Refusal::ProviderStale(provider.clone()))?;
    if cluster.is_overcommitted() {
        return Err(Refusal::ProviderOvercommitted(provider.clone()));
    }
    Ok(())
}
