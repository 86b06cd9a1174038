//! Who may do what with a reservation: what is not yours does not exist.

use crate::command::Actor;
use crate::fleet::Fleet;
use crate::id::{ClusterId, ReservationId};
use crate::refusal::Refusal;
use crate::reservation::Reservation;
use crate::time::Timestamp;

/// The side of a reservation that someone stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Requester,
    Provider,
    Administrator,
}

/// A reservation as seen by someone who may see it.
pub(super) fn visible<'a>(
    fleet: &'a Fleet,
    id: ReservationId,
    by: &Actor,
) -> Result<(&'a Reservation, Side), Refusal> {
    let unknown = || Refusal::UnknownReservation(id);
    let reservation = fleet.reservation(id).ok_or_else(unknown)?;
    let side = match by {
        Actor::Cluster(cluster) if cluster == reservation.requester() => Side::Requester,
        Actor::Cluster(cluster) if *cluster == reservation.provider => Side::Provider,
        Actor::Cluster(_) => return Err(unknown()),
        Actor::Administrator(_) | Actor::Broker => Side::Administrator,
    };
    Ok((reservation, side))
}

/// A reservation for its requester only.
pub(super) fn as_requester<'a>(
    fleet: &'a Fleet,
    id: ReservationId,
    by: &Actor,
) -> Result<&'a Reservation, Refusal> {
    let (reservation, _) = visible(fleet, id, by)?;
    let allowed = is(by, reservation.requester());
    if allowed { Ok(reservation) } else { Err(Refusal::NotAllowed { allowed: "the requester" }) }
}

/// A reservation for its provider only.
pub(super) fn as_provider<'a>(
    fleet: &'a Fleet,
    id: ReservationId,
    by: &Actor,
) -> Result<&'a Reservation, Refusal> {
    let (reservation, _) = visible(fleet, id, by)?;
    let allowed = is(by, &reservation.provider);
    if allowed { Ok(reservation) } else { Err(Refusal::NotAllowed { allowed: "the provider" }) }
}

/// Whether it is this cluster that acts; an administrator may be one too.
fn is(by: &Actor, cluster: &ClusterId) -> bool {
    match by {
        Actor::Cluster(id) | Actor::Administrator(id) => id == cluster,
        Actor::Broker => false,
    }
}

/// What has ended, or should have ended by now, cannot be used any more. In a restored ledger it may have been renewed since: its
/// provider knows.
pub(super) fn still_live(
    fleet: &Fleet,
    reservation: &Reservation,
    now: Timestamp,
) -> Result<(), Refusal> {
    let is_due = reservation.is_due(now) && fleet.may_end(&reservation.provider);
    if reservation.phase.is_live() && !is_due {
        Ok(())
    } else {
        Err(Refusal::AlreadyEnded(reservation.id))
    }
}
