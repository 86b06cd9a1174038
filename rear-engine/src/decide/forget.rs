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
    let mut endings = Endings::new(fleet, by.clone(), now);
    end(&mut endings, fleet, &cluster, Release::RequesterGone, usize::MAX)?;
    let subject = Subject::Cluster(cluster.clone());
    let mut decision = endings.decide(subject.clone());
    decision.changes.push(Change::Forgotten(cluster));
    decision.events.push(Event { at: now, subject, what: Happening::Forgotten, by });
    Ok(decision)
}

/// What goes before, where all of it at once would be too much. The cluster is still there: what it took is given back in the
/// administrator's name.
pub(super) fn clear(
    fleet: &Fleet,
    cluster: ClusterId,
    limit: usize,
    by: Actor,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let mut endings = Endings::new(fleet, by, now);
    end(&mut endings, fleet, &cluster, Release::ByAdministrator, limit)?;
    Ok(endings.decide(Subject::Cluster(cluster)))
}

fn end<'a>(
    endings: &mut Endings<'a>,
    fleet: &'a Fleet,
    cluster: &ClusterId,
    release: Release,
    limit: usize,
) -> Result<(), Refusal> {
    if !endings.are_by_an_administrator() {
        return Err(Refusal::NotAllowed { allowed: "an administrator" });
    }
    // A requester that never spoke over the API has promises and no record.
    let promised = fleet.live_of_requester(cluster).next().is_some();
    if fleet.cluster(cluster).is_none() && !promised {
        return Err(Refusal::UnknownCluster(cluster.clone()));
    }
    let given = fleet.live_of_provider(cluster);
    let given = given.map(|promise| (promise, Ending::Failed(Failure::ProviderGone)));
    let taken = fleet.live_of_requester(cluster);
    let taken = taken.map(|promise| (promise, Ending::Released(release)));
    for (promise, how) in given.chain(taken).take(limit) {
        endings.end(promise, how)?;
    }
    Ok(())
}
