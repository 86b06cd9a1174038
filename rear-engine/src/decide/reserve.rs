//! Reserve: find a provider, lock the capacity, or say for each cluster why not.

use std::sync::Arc;

use super::hear::hear;
use crate::ask::Ask;
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::Fleet;
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::ledger::LedgerError;
use crate::place::rank::{Ranking, dry_run};
use crate::place::select::choose;
use crate::refusal::Refusal;
use crate::reservation::Pending;
use crate::resources::Resources;
use crate::time::Timestamp;

pub(super) fn reserve(
    fleet: &Fleet,
    id: ReservationId,
    ask: Ask,
    key: Option<IdempotencyKey>,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    may_ask(&ask, &by)?;
    if let Some(made) = made_before(fleet, &ask, key.as_ref())? {
        return Ok(Decision::nothing(Subject::Reservation(made)));
    }
    if fleet.reservation(id).is_some() {
        return Err(Refusal::IdTaken(id));
    }
    let expires_at = end_if_allowed(fleet, &ask, now)?;
    let provider = choose(fleet, &ask, now).map_err(Refusal::NoRoom)?;
    let total = ledger_after(fleet, &provider, ask.resources())?;
    let pending = Pending { id, ask, key };
    let reservation = pending.grant(provider.clone(), now, expires_at);
    let subject = Subject::Reservation(id);
    let mut changes = sign_of_life(fleet, reservation.requester(), expires_at, now);
    changes.push(Change::Reservation(Arc::new(reservation)));
    changes.push(Change::Ledger { cluster: provider, total });
    Ok(Decision {
        changes,
        events: vec![Event { at: now, subject: subject.clone(), what: Happening::Reserved, by }],
        subject,
    })
}

/// Explains a request without granting it, unless the operator's rules forbid it whoever has room.
pub fn explain(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Result<Ranking, Refusal> {
    end_if_allowed(fleet, ask, now)?;
    Ok(dry_run(fleet, ask, now))
}

/// When a request would end, unless the operator's rules forbid it whoever has room.
fn end_if_allowed(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    may_have_more(fleet, ask.requester())?;
    end_of(fleet, ask, now)
}

/// What lives while its requester is heard of must not end at once because that was long ago. A
/// requester that was never heard stays one, and is never missed.
fn sign_of_life(
    fleet: &Fleet,
    requester: &ClusterId,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Vec<Change> {
    let heard = fleet.cluster(requester).and_then(|known| known.record().heard_at);
    if expires_at.is_none() && heard.is_some() {
        hear(fleet, requester.clone(), now).changes
    } else {
        Vec::with_capacity(2)
    }
}

fn may_ask(ask: &Ask, by: &Actor) -> Result<(), Refusal> {
    match by {
        Actor::Cluster(cluster) if cluster == ask.requester() => Ok(()),
        Actor::Cluster(_) => Err(Refusal::NotAllowed { allowed: "the requester" }),
        Actor::Administrator(_) | Actor::Broker => Ok(()),
    }
}

fn may_have_more(fleet: &Fleet, requester: &ClusterId) -> Result<(), Refusal> {
    let limit = fleet.policy().max_reservations;
    let full = fleet.reservations_of(requester) >= limit;
    if full { Err(Refusal::TooManyReservations { limit }) } else { Ok(()) }
}

/// The reservation that this intent has already led to. Refusals are not remembered.
fn made_before(
    fleet: &Fleet,
    ask: &Ask,
    key: Option<&IdempotencyKey>,
) -> Result<Option<ReservationId>, Refusal> {
    let made = key.and_then(|key| fleet.reservation_by_key(ask.requester(), key));
    match made {
        Some(made) if made.ask == *ask => Ok(Some(made.id)),
        Some(made) => Err(Refusal::KeyReused(made.id)),
        None => Ok(None),
    }
}

fn end_of(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    let policy = fleet.policy();
    let Some(duration) = policy.duration_for(ask.terms().duration) else {
        return Ok(None);
    };
    let longest = policy.longest_duration();
    if duration > longest {
        return Err(Refusal::TooLong(longest));
    }
    Ok(Some(now.plus(duration)))
}

fn ledger_after(
    fleet: &Fleet,
    provider: &ClusterId,
    amount: Resources,
) -> Result<Resources, Refusal> {
    let cluster = fleet.cluster(provider);
    let total = cluster.map_or(Resources::NONE, |cluster| cluster.ledger().total());
    total
        .checked_add(amount)
        .ok_or_else(|| Refusal::Ledger { cluster: provider.clone(), source: LedgerError::Overflow })
}
