//! Mark stale: clusters that have not advertised for too long get no new promises; what they promised stays.

use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::duration::Duration;
use crate::fleet::{ClusterRecord, Fleet};
use crate::time::Timestamp;

pub(super) fn mark_stale(fleet: &Fleet, limit: usize, now: Timestamp) -> Decision {
    let age = fleet.policy().stale_after;
    let oldest = now.plus(Duration::from_nanos(-age.as_nanos()));
    let mut decision = Decision::nothing(Subject::Fleet);
    for id in fleet.timeline().unadvertised_since(oldest).take(limit) {
        let Some(cluster) = fleet.cluster(id) else {
            continue;
        };
        let record = ClusterRecord { stale: true, ..cluster.record().clone() };
        decision.changes.push(Change::Cluster(Box::new(record)));
        decision.events.push(Event {
            at: now,
            subject: Subject::Cluster(id.clone()),
            what: Happening::BecameStale,
            by: Actor::Broker,
        });
    }
    decision
}
