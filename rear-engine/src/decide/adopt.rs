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

/// The promises that a recovering provider keeps and the ledger does not know, entered into `ledger`.
///
/// An id that is known already, here or elsewhere, live or ended, is not adopted: the ledger knows
/// better. Neither is one that has ended by now, nor one of a provider to itself.
pub(super) fn adopt(
    fleet: &Fleet,
    provider: &ClusterId,
    holding: Vec<Holding>,
    ledger: &mut Ledger,
    now: Timestamp,
) -> Result<Vec<Reservation>, Refusal> {
    let mut adopted: Vec<Reservation> = Vec::new();
    let mut seen = BTreeSet::new();
    for Holding { reservation: id, ask, expires_at } in holding {
        let known = fleet.reservation(id).is_some() || seen.contains(&id);
        let over = expires_at.is_some_and(|end| end <= now);
        if known || over || ask.requester() == provider {
            continue;
        }
        ledger
            .hold(ask.requester(), ask.resources(), Resources::NONE)
            .map_err(|source| Refusal::Ledger { cluster: provider.clone(), source })?;
        seen.insert(id);
        let pending = Pending { id, ask, key: None };
        adopted.push(pending.grant(provider.clone(), now, expires_at));
    }
    Ok(adopted)
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
