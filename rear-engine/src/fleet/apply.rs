//! Making changes true in memory: the only place where a fleet is written.

use std::sync::Arc;

use thiserror::Error;

use super::{Cluster, ClusterRecord, Fleet};
use crate::decision::{Change, Decision};
use crate::id::{ClusterId, ReservationId};
use crate::ledger::{Ledger, LedgerError};
use crate::place::index::Look;
use crate::reservation::{Phase, Reservation};
use crate::resources::Resources;
use crate::time::Timestamp;

/// Changes and fleet do not belong together: one of them is damaged, and nothing more may be decided.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Divergence {
    /// A change names a cluster that is not there.
    #[error("a change names the cluster {0}, which is not there")]
    UnknownCluster(ClusterId),
    /// A change names a reservation that is not there or lives.
    #[error("a change drops the reservation {0}, which is not there or lives")]
    NotEnded(ReservationId),
    /// An ended reservation would live again, or move to another provider.
    #[error("a change takes the reservation {0} backwards")]
    Backwards(ReservationId),
    /// The ledger does not add up.
    #[error("the ledger of {cluster} says {ledger}, its reservations sum up to {sum}")]
    Ledger {
        /// Which cluster.
        cluster: ClusterId,
        /// What the change says.
        ledger: Resources,
        /// What the reservations say.
        sum: Resources,
    },
    /// An entry does not fit into the ledger.
    #[error("the reservation {id} does not fit into the ledger of its provider")]
    Entry {
        /// Which reservation.
        id: ReservationId,
        /// What is wrong.
        source: LedgerError,
    },
    /// A forgotten cluster still has promises.
    #[error("the forgotten cluster {0} still has promises")]
    StillPromised(ClusterId),
}

impl Fleet {
    /// Makes a whole decision true.
    pub fn apply_all(&mut self, decision: Decision) -> Result<(), Divergence> {
        decision.changes.into_iter().try_for_each(|change| self.apply(change))
    }

    /// Makes one change true. After an error the fleet must be built anew.
    pub fn apply(&mut self, change: Change) -> Result<(), Divergence> {
        match change {
            Change::Cluster(record) => self.put_cluster(*record),
            Change::Refreshed { cluster, at, timestamp, order, durable } => {
                let kept = self.cluster_mut(&cluster)?;
                let Some(advertised) = &mut kept.record.advertised else {
                    return Err(Divergence::UnknownCluster(cluster));
                };
                let before = std::mem::replace(&mut advertised.received_at, at);
                advertised.advertisement.timestamp = timestamp;
                advertised.advertisement.order = order;
                if durable {
                    kept.freshness_kept_at = Some(at);
                }
                let before = (!kept.record.stale).then_some(before);
                let after = (!kept.record.stale).then_some(at);
                self.timeline.move_advertisement(&cluster, before, after);
            }
            Change::Heard { cluster, at, durable } => self.put_sign(&cluster, at, durable),
            Change::Reservation(reservation) => return self.put_reservation(reservation),
            Change::Ledger { cluster, total } => return self.check_ledger(&cluster, total),
            Change::Forgotten(cluster) => return self.remove_cluster(&cluster),
            Change::Dropped(id) => return self.drop_reservation(id),
            Change::RecoveryEnded { incarnation } => self.end_recovery(incarnation),
        }
        Ok(())
    }

    /// Sorts the index once many clusters have been put: worth it after loading, never needed.
    pub fn settle(&mut self) {
        self.index.settle();
        for (id, row) in self.index.places() {
            if let Some(cluster) = self.clusters.get_mut(id) {
                cluster.row = Some(row);
            }
        }
    }

    fn cluster_mut(&mut self, id: &ClusterId) -> Result<&mut Cluster, Divergence> {
        self.clusters.get_mut(id).ok_or_else(|| Divergence::UnknownCluster(id.clone()))
    }

    fn cluster_or_new(&mut self, id: &ClusterId) -> &mut Cluster {
        self.clusters.entry(id.clone()).or_insert_with(|| Cluster {
            record: ClusterRecord::new(id.clone()),
            freshness_kept_at: None,
            presence_kept_at: None,
            ledger: Ledger::default(),
            live: std::collections::BTreeSet::new(),
            row: None,
        })
    }

    pub(super) fn put_cluster(&mut self, record: ClusterRecord) {
        let id = record.id.clone();
        let cluster = self.cluster_or_new(&id);
        cluster.freshness_kept_at = record.advertised.as_ref().map(|kept| kept.received_at);
        cluster.presence_kept_at = record.heard_at;
        if let Some(advertisement) = record.advertisement() {
            cluster.ledger.recount(&advertisement.consumed);
        }
        let before = std::mem::replace(&mut cluster.record, record);
        let heard = cluster.record.heard_at;
        let counts = |record: &ClusterRecord| {
            let kept = record.advertised.as_ref().filter(|_| !record.stale);
            kept.map(|advertised| advertised.received_at)
        };
        let (advertised_before, advertised_now) = (counts(&before), counts(&cluster.record));
        self.timeline.move_advertisement(&id, advertised_before, advertised_now);
        self.timeline.move_sign(&id, before.heard_at, heard);
        if self.is_recovering(&before) {
            self.let_end(&id);
        }
        self.reindex(&id);
    }

    fn put_sign(&mut self, id: &ClusterId, at: Timestamp, durable: bool) {
        let cluster = self.cluster_or_new(id);
        let before = cluster.record.heard_at.replace(at);
        if durable {
            cluster.presence_kept_at = Some(at);
        }
        self.timeline.move_sign(id, before, Some(at));
    }

    pub(super) fn put_reservation(&mut self, after: Arc<Reservation>) -> Result<(), Divergence> {
        let before = self.reservations.get(&after.id);
        if before.is_some_and(|before| !may_follow(before, &after)) {
            return Err(Divergence::Backwards(after.id));
        }
        let held_before = before.map_or(Resources::NONE, |before| before.held());
        self.move_capacity(&after, held_before)?;
        self.unlink(after.id);
        self.link(&after);
        if let Some(before) = self.reservations.insert(after.id, after) {
            self.uncount(before.requester());
        }
        Ok(())
    }

    fn move_capacity(&mut self, after: &Reservation, before: Resources) -> Result<(), Divergence> {
        if before == after.held() {
            return Ok(());
        }
        let id = after.id;
        let entry = self.change(&after.provider, |cluster| {
            if before.is_none() {
                let advertisement = cluster.record.advertisement();
                let consumed = advertisement.map(|told| told.consumed.by(after.requester()));
                cluster.live.insert(id);
                cluster.ledger.hold(after.requester(), after.held(), consumed.unwrap_or_default())
            } else {
                cluster.live.remove(&id);
                cluster.ledger.give_back(after.requester(), before)
            }
        });
        let entry = entry.ok_or_else(|| Divergence::UnknownCluster(after.provider.clone()))?;
        entry.map_err(|source| Divergence::Entry { id, source })
    }

    /// Enters a promise into the ledger and the index without a record of it: what benchmarks compare
    /// with the whole.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn hold_unrecorded(
        &mut self,
        provider: &ClusterId,
        requester: &ClusterId,
        amount: Resources,
    ) -> Result<(), LedgerError> {
        self.change(provider, |cluster| cluster.ledger.hold(requester, amount, Resources::NONE))
            .unwrap_or(Ok(()))
    }

    /// The reverse of [`Fleet::hold_unrecorded`].
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn give_back_unrecorded(
        &mut self,
        provider: &ClusterId,
        requester: &ClusterId,
        amount: Resources,
    ) -> Result<(), LedgerError> {
        self.change(provider, |cluster| cluster.ledger.give_back(requester, amount))
            .unwrap_or(Ok(()))
    }

    fn link(&mut self, reservation: &Reservation) {
        let requester = reservation.requester();
        let made = self.by_requester.entry(requester.clone()).or_default();
        made.all += 1;
        if let Some(key) = &reservation.key {
            made.by_key.insert(key.clone(), reservation.id);
        }
        if reservation.phase.is_live() {
            made.live.insert(reservation.id);
            if self.may_end(&reservation.provider) {
                self.timeline.add(reservation, self.heard_at(requester));
            }
        }
        if let Some(ended_at) = reservation.phase.ended_at() {
            self.timeline.remember(ended_at, reservation.id);
        }
    }

    pub(super) fn unlink(&mut self, id: ReservationId) {
        let Some(reservation) = self.reservations.get(&id).filter(|kept| kept.phase.is_live())
        else {
            return;
        };
        let requester = reservation.requester();
        let heard = self.clusters.get(requester).and_then(|cluster| cluster.record.heard_at);
        self.timeline.remove(reservation, heard);
        if let Some(made) = self.by_requester.get_mut(requester) {
            made.live.remove(&id);
        }
    }

    /// The key of a reservation that is not remembered any more can be used again.
    pub(super) fn forget_key(&mut self, gone: &Reservation) {
        if let (Some(key), Some(made)) = (&gone.key, self.by_requester.get_mut(gone.requester())) {
            made.by_key.remove(key);
        }
    }

    /// A requester has one reservation less, or one that was counted twice.
    pub(super) fn uncount(&mut self, requester: &ClusterId) {
        if let Some(made) = self.by_requester.get_mut(requester) {
            made.all -= 1;
            if made.all == 0 {
                self.by_requester.remove(requester);
            }
        }
    }

    /// After a restore, a promise may have been renewed since the backup: only its provider knows. Until
    /// it has spoken, nothing that it keeps ends by itself.
    pub(crate) fn may_end(&self, provider: &ClusterId) -> bool {
        self.clusters.get(provider).is_none_or(|cluster| !self.is_recovering(&cluster.record))
    }

    /// What was kept from ending ends in its time, once its provider is no longer waited for.
    fn let_end(&mut self, provider: &ClusterId) {
        let Some(cluster) = self.clusters.get(provider).filter(|_| self.may_end(provider)) else {
            return;
        };
        for reservation in cluster.live.iter().filter_map(|id| self.reservations.get(id)) {
            let heard = self.heard_at(reservation.requester());
            self.timeline.add(reservation, heard);
        }
    }

    fn heard_at(&self, requester: &ClusterId) -> Option<Timestamp> {
        self.clusters.get(requester).and_then(|cluster| cluster.record.heard_at)
    }

    fn check_ledger(&self, id: &ClusterId, total: Resources) -> Result<(), Divergence> {
        let sum = self.clusters.get(id).map_or(Resources::NONE, |cluster| cluster.ledger.total());
        if sum == total {
            Ok(())
        } else {
            Err(Divergence::Ledger { cluster: id.clone(), ledger: total, sum })
        }
    }

    fn remove_cluster(&mut self, id: &ClusterId) -> Result<(), Divergence> {
        let lends = self.clusters.get(id).is_some_and(|cluster| !cluster.live.is_empty());
        let borrows = self.by_requester.get(id).is_some_and(|made| !made.live.is_empty());
        if lends || borrows {
            return Err(Divergence::StillPromised(id.clone()));
        }
        self.take_out(id);
        Ok(())
    }

    /// As if it had never been heard of; what it borrows stays.
    pub(super) fn take_out(&mut self, id: &ClusterId) {
        if let Some(Cluster { record, row, .. }) = self.clusters.remove(id) {
            self.index.remove(id, row);
            self.sidelined.remove(id);
            let advertised = record.advertised.filter(|_| !record.stale);
            let counted = advertised.map(|advertised| advertised.received_at);
            self.timeline.move_advertisement(id, counted, None);
            self.timeline.move_sign(id, record.heard_at, None);
        }
    }

    fn drop_reservation(&mut self, id: ReservationId) -> Result<(), Divergence> {
        let ended_at = self.reservations.get(&id).and_then(|kept| kept.phase.ended_at());
        let ended_at = ended_at.ok_or(Divergence::NotEnded(id))?;
        self.timeline.forget(ended_at, id);
        if let Some(dropped) = self.reservations.remove(&id) {
            self.forget_key(&dropped);
            self.uncount(dropped.requester());
        }
        Ok(())
    }

    fn end_recovery(&mut self, incarnation: u64) {
        let waited_for = self.clusters.values().filter(|kept| self.is_recovering(&kept.record));
        let ids: Vec<ClusterId> = waited_for.map(|kept| kept.record.id.clone()).collect();
        self.recovered_through = self.recovered_through.max(incarnation);
        for id in ids {
            self.let_end(&id);
            self.reindex(&id);
        }
    }

    fn reindex(&mut self, id: &ClusterId) {
        self.change(id, |_| ());
    }

    /// Changes a cluster, if it is there, and brings the index up to date with it. Only those that may get
    /// promises are in it.
    pub(super) fn change<T>(
        &mut self,
        id: &ClusterId,
        how: impl FnOnce(&mut Cluster) -> T,
    ) -> Option<T> {
        let cluster = self.clusters.get_mut(id)?;
        let result = how(cluster);
        let recovering = cluster.record.is_recovering(self.recovered_through, self.incarnation);
        if let Some(look) = look_for_promises(cluster).filter(|_| !recovering) {
            self.sidelined.remove(id);
            cluster.row = Some(self.index.put(id, cluster.row, look));
            if self.index.is_unsorted() {
                self.settle();
            }
            return Some(result);
        }
        self.index.remove(id, cluster.row.take());
        if cluster.record.advertised.is_some() {
            self.sidelined.insert(id.clone());
        } else {
            self.sidelined.remove(id);
        }
        Some(result)
    }
}

/// What requests see of a cluster that may get promises as far as it is to blame itself.
fn look_for_promises(cluster: &Cluster) -> Option<Look<'_>> {
    let advertisement = cluster.record.advertisement()?;
    let available = cluster.ledger.available(advertisement);
    let eligible = !cluster.record.stale && !available.is_overcommitted();
    eligible.then(|| Look {
        allocatable: advertisement.allocatable,
        available: available.shown(),
        cost: advertisement.cost.as_ref(),
    })
}

/// A promise keeps its amounts, its sides and its key, and what has ended stays as it ended.
fn may_follow(before: &Reservation, after: &Reservation) -> bool {
    let same_promise =
        before.ask == after.ask && before.provider == after.provider && before.key == after.key;
    let forward = match (&before.phase, &after.phase) {
        (Phase::Active(_), Phase::Reserved(_)) => false,
        (Phase::Reserved(_) | Phase::Active(_), _) => true,
        (Phase::Released(_) | Phase::Failed(_), _) => before == after,
    };
    same_promise && forward
}
