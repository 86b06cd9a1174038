//! Adopt: after a restore, the ledger learns from providers what the backup did not know.

use std::collections::BTreeSet;

use crate::advertisement::Holding;
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::{ClusterRecord, Fleet};
use crate::id::ClusterId;
use crate::ledger::Ledger;
use crate::refusal::Refusal;
use crate::reservation::{Pending, Reservation};
use crate::resources::Resources;
use crate::time::Timestamp;

/// What a cluster says of the promises that it keeps.
pub(super) enum Held {
    /// Nothing.
    Unsaid,
    /// These are all.
    All(Vec<Holding>),
    /// At most so many of these are entered now, and the rest later.
    More { holding: Vec<Holding>, limit: usize },
}

/// What the ledger learns from a recovering provider: promises that it did not know, entered into `ledger`,
/// and later ends of promises that were renewed after the backup.
///
/// In all else the ledger knows better: what has ended, or is promised elsewhere or to another, stays
/// as it is. A promise that is over by now is not adopted, nor one of a provider to itself. No more than `limit` are.
pub(super) fn adopt(
    fleet: &Fleet,
    provider: &ClusterId,
    holding: Vec<Holding>,
    limit: usize,
    ledger: &mut Ledger,
    now: Timestamp,
) -> Result<Vec<Reservation>, Refusal> {
    let mut adopted: Vec<Reservation> = Vec::new();
    let mut seen = BTreeSet::new();
    for held in holding {
        if adopted.len() == limit {
            break;
        }
        let over = held.expires_at.is_some_and(|end| end <= now);
        if over || held.ask.requester() == provider || !seen.insert(held.reservation) {
            continue;
        }
        if let Some(known) = fleet.reservation(held.reservation) {
            adopted.extend(prolonged(known, provider, &held));
            continue;
        }
        let Holding { reservation: id, ask, expires_at } = held;
        ledger
            .hold(ask.requester(), ask.resources(), Resources::NONE)
            .map_err(|source| Refusal::Ledger { cluster: provider.clone(), source })?;
        let pending = Pending { id, ask, key: None };
        adopted.push(pending.grant(provider.clone(), now, expires_at));
    }
    Ok(adopted)
}

/// A promise that its provider keeps for longer than the ledger says.
fn prolonged(known: &Reservation, provider: &ClusterId, held: &Holding) -> Option<Reservation> {
    let same_sides = known.provider == *provider && known.requester() == held.ask.requester();
    let later = held.expires_at.zip(known.expires_at).is_some_and(|(told, kept)| told > kept);
    (same_sides && later && known.phase.is_live())
        .then(|| Reservation { expires_at: held.expires_at, ..known.clone() })
}

/// An administrator does not want to wait any longer for what clusters hold.
pub(super) fn end_recovery(
    fleet: &Fleet,
    cluster: Option<ClusterId>,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if !matches!(by, Actor::Administrator(_)) {
        return Err(Refusal::NotAllowed { allowed: "an administrator" });
    }
    let incarnation = fleet.incarnation();
    let Some(id) = cluster else {
        let event = Event { at: now, subject: Subject::Fleet, what: Happening::Recovered, by };
        return Ok(Decision {
            subject: Subject::Fleet,
            changes: vec![Change::RecoveryEnded { incarnation }],
            events: vec![event],
        });
    };
    let known = fleet.cluster(&id).ok_or_else(|| Refusal::UnknownCluster(id.clone()))?;
    let subject = Subject::Cluster(id);
    if !fleet.is_recovering(known.record()) {
        return Ok(Decision::nothing(subject));
    }
    let record = ClusterRecord { recovered_in: incarnation, ..known.record().clone() };
    Ok(Decision {
        changes: vec![Change::Cluster(Box::new(record))],
        events: vec![Event { at: now, subject: subject.clone(), what: Happening::Recovered, by }],
        subject,
    })
}
