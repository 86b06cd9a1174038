//! Hear: a requester gave a sign of life, which keeps its reservations without an end.

use crate::decision::{Change, Decision, Subject};
use crate::fleet::{Cluster, Fleet};
use crate::id::ClusterId;
use crate::time::Timestamp;

pub(super) fn hear(fleet: &Fleet, cluster: ClusterId, now: Timestamp) -> Decision {
    let known = fleet.cluster(&cluster);
    let subject = Subject::Cluster(cluster.clone());
    if known.and_then(|known| known.record().heard_at).is_some_and(|heard| heard >= now) {
        return Decision::nothing(subject);
    }
    let kept_at = known.and_then(Cluster::presence_kept_at);
    let durable = kept_at.is_none_or(|kept| now.since(kept) >= fleet.policy().presence_kept_for());
    let changes = vec![Change::Heard { cluster, at: now, durable }];
    Decision { subject, changes, events: Vec::new() }
}
