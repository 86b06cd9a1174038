//! Taking changes back: what was decided and did not come about is forgotten, at the cost of the changes and not of the fleet.

use std::sync::Arc;

use super::{ClusterRecord, Divergence, Fleet};
use crate::decision::Change;
use crate::id::{ClusterId, ReservationId};
use crate::reservation::Reservation;
use crate::resources::Resources;
use crate::time::Timestamp;

/// How it was before one change.
#[derive(Debug)]
pub struct Undo(Before);

#[derive(Debug)]
enum Before {
    /// The change only compared.
    Same,
    Cluster(ClusterId, Option<Box<Kept>>),
    Reservation(ReservationId, Option<Arc<Reservation>>),
    /// Too much depends on it: the fleet has to be taken from elsewhere.
    Lost,
}

#[derive(Debug)]
struct Kept {
    record: ClusterRecord,
    freshness_kept_at: Option<Timestamp>,
    presence_kept_at: Option<Timestamp>,
}

impl Fleet {
    /// How it is before a change, to take that back. Asked before it is applied.
    #[must_use]
    pub fn before(&self, change: &Change) -> Undo {
        Undo(match change {
            Change::Cluster(record) => self.before_cluster(&record.id),
            Change::Refreshed { cluster, .. }
            | Change::Heard { cluster, .. }
            | Change::Forgotten(cluster) => self.before_cluster(cluster),
            Change::Reservation(after) => self.before_reservation(after.id),
            Change::Dropped(id) => self.before_reservation(*id),
            Change::Ledger { .. } => Before::Same,
            Change::RecoveryEnded { .. } => Before::Lost,
        })
    }

    fn before_cluster(&self, id: &ClusterId) -> Before {
        let Some(cluster) = self.clusters.get(id) else { return Before::Cluster(id.clone(), None) };
        if self.is_recovering(&cluster.record) {
            return Before::Lost;
        }
        Before::Cluster(
            id.clone(),
            Some(Box::new(Kept {
                record: cluster.record.clone(),
                freshness_kept_at: cluster.freshness_kept_at,
                presence_kept_at: cluster.presence_kept_at,
            })),
        )
    }

    fn before_reservation(&self, id: ReservationId) -> Before {
        Before::Reservation(id, self.reservations.get(&id).cloned())
    }

    /// Takes changes back, the last first. Whether it could: if not, the fleet is of no use any more.
    #[must_use]
    pub fn take_back(&mut self, changes: Vec<Undo>) -> bool {
        changes.into_iter().rev().all(|Undo(before)| match before {
            Before::Same => true,
            // Who was never heard of may have promises all the same: administrators ask for others.
            Before::Cluster(id, None) => {
                self.take_out(&id);
                true
            }
            Before::Cluster(id, Some(kept)) => {
                self.bring_back(&id, *kept);
                true
            }
            Before::Reservation(id, before) => self.bring_back_promise(id, before).is_ok(),
            Before::Lost => false,
        })
    }

    fn bring_back(&mut self, id: &ClusterId, kept: Kept) {
        self.put_cluster(kept.record);
        if let Some(cluster) = self.clusters.get_mut(id) {
            cluster.freshness_kept_at = kept.freshness_kept_at;
            cluster.presence_kept_at = kept.presence_kept_at;
        }
    }

    fn bring_back_promise(
        &mut self,
        id: ReservationId,
        before: Option<Arc<Reservation>>,
    ) -> Result<(), Divergence> {
        self.unlink(id);
        if let Some(after) = self.reservations.remove(&id) {
            self.forget_key(&after);
            self.uncount(after.requester());
            if let Some(ended_at) = after.phase.ended_at() {
                self.timeline.forget(ended_at, id);
            }
            self.free(&after)?;
        }
        before.map_or(Ok(()), |before| self.put_reservation(before))
    }

    fn free(&mut self, after: &Reservation) -> Result<(), Divergence> {
        if after.held() == Resources::NONE {
            return Ok(());
        }
        let freed = self.change(&after.provider, |cluster| {
            cluster.live.remove(&after.id);
            cluster.ledger.give_back(after.requester(), after.held())
        });
        let freed = freed.ok_or_else(|| Divergence::UnknownCluster(after.provider.clone()))?;
        freed.map_err(|source| Divergence::Entry { id: after.id, source })
    }
}
