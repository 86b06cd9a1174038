//! Forget: an administrator declares a cluster gone; everything between it and others ends.

use super::ending::Endings;
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::Fleet;
use crate::id::ClusterId;
use crate::refusal::Refusal;
use crate::reservation::{Ending, Failure, Release};
use crate::time::Timestamp;

pub(super) fn forget(
    fleet: &Fleet,
    cluster: ClusterId,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if !matches!(by, Actor::Administrator(_)) {
        return Err(Refusal::NotAllowed { allowed: "an administrator" });
    }
    // A requester that never spoke over the API has promises and no record.
    let promised = fleet.live_of_requester(&cluster).next().is_some();
    if fleet.cluster(&cluster).is_none() && !promised {
        return Err(Refusal::UnknownCluster(cluster));
    }
    let mut endings = Endings::new(fleet, by.clone(), now);
    for reservation in fleet.live_of_provider(&cluster) {
        endings.end(reservation, Ending::Failed(Failure::ProviderGone))?;
    }
    for reservation in fleet.live_of_requester(&cluster) {
        endings.end(reservation, Ending::Released(Release::RequesterGone))?;
    }
    let subject = Subject::Cluster(cluster.clone());
    let mut decision = endings.decide(subject.clone());
    decision.changes.push(Change::Forgotten(cluster));
    decision.events.push(Event { at: now, subject, what: Happening::Forgotten, by });
    Ok(decision)
}
