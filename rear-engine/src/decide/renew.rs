//! Renew: the requester names a new end, absolute, so that a retry cannot extend twice.

use std::sync::Arc;

use super::rights::{as_requester, still_live};
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::{Cluster, Fleet};
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
    let subject = Subject::Reservation(id);
    if reservation.expires_at == Some(until) {
        // Before anything else: what was agreed on once is agreed on, also if it is asked for again under other limits.
        return Ok(Decision::nothing(subject));
    }
    let longest = fleet.policy().longest_duration();
    if until.since(now) > longest {
        return Err(Refusal::TooLong(longest));
    }
    provider_can_keep(fleet, reservation, now)?;
    provider_has_spoken(fleet, reservation)?;
    let renewed = Reservation { expires_at: Some(until), ..reservation.clone() };
    Ok(Decision {
        changes: vec![Change::Reservation(Arc::new(renewed))],
        events: vec![Event { at: now, subject: subject.clone(), what: Happening::Renewed, by }],
        subject,
    })
}

/// After a restore a later end than the ledger's counts that the provider remembers: it may have been agreed on since the backup.
/// Whatever else is agreed on before the provider has spoken could be lost to that.
fn provider_has_spoken(fleet: &Fleet, reservation: &Reservation) -> Result<(), Refusal> {
    let provider = &reservation.provider;
    let recovering = |cluster: &Cluster| fleet.is_recovering(cluster.record());
    if fleet.cluster(provider).is_some_and(recovering) {
        return Err(Refusal::ProviderRecovering(provider.clone()));
    }
    Ok(())
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
