//! What readers see: everything that is durable, and nothing that is not.
//!
//! The writer decides against a fleet of its own, which is ahead of the disk. A [`View`] follows after
//! each commit, so that no reader ever sees a promise that a power cut could take back, and none waits
//! for the disk: only for the changes of a batch to be entered in memory.

mod list;
mod recent;
mod tally;

use std::collections::BTreeSet;
use std::sync::Arc;

use rear_engine::advertisement::Holding;
use rear_engine::fleet::Divergence;
use rear_engine::{
    Advertisement, Change, ClusterId, Fleet, Phase, Policy, Reservation, ReservationId, Timestamp,
    refreshment,
};
use rustc_hash::FxHashMap;

use crate::journal::Batch;
use crate::position::Position;
use crate::records::meta::Meta;

pub use list::{Cursor, CursorError, MAX_PAGE, MAX_SCANNED, Page, PhaseName, Query, Side};
pub use recent::{RECENT, Told};
pub(crate) use recent::{Recent, concerned};
pub use tally::{Amounts, State, Sum, Tally};

/// A durable state with its indexes.
#[derive(Debug)]
pub struct View {
    fleet: Fleet,
    position: Position,
    now: Timestamp,
    /// Events of this commit and all before it are kept no longer.
    trimmed_through: Position,
    cluster_ids: BTreeSet<ClusterId>,
    reservation_ids: BTreeSet<ReservationId>,
    by_requester: FxHashMap<ClusterId, BTreeSet<ReservationId>>,
    by_provider: FxHashMap<ClusterId, BTreeSet<ReservationId>>,
    counts: Counts,
    /// The last commit that changed a promise to or of each cluster.
    news: FxHashMap<ClusterId, News>,
    /// Where this process began: what changed before is not known by cluster.
    began_at: Position,
    recent: Recent,
}

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Clusters that are known, also those that only ask.
    pub clusters: usize,
    /// Promises that nobody uses yet.
    pub reserved: usize,
    /// Promises in use.
    pub active: usize,
    /// Given back as agreed, and still remembered.
    pub released: usize,
    /// Given back otherwise, and still remembered.
    pub failed: usize,
}

/// The last commits that changed a cluster's promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct News {
    as_requester: Position,
    as_provider: Position,
}

/// One of the two sides of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Who was promised.
    Requester,
    /// Who promises.
    Provider,
}

impl View {
    pub(crate) fn new(fleet: Fleet, meta: &Meta, now: Timestamp) -> Self {
        let position = meta.position;
        let mut view = Self {
            position,
            now,
            trimmed_through: meta.trimmed_through,
            cluster_ids: fleet.clusters().map(|kept| kept.record().id.clone()).collect(),
            reservation_ids: BTreeSet::new(),
            by_requester: FxHashMap::default(),
            by_provider: FxHashMap::default(),
            counts: Counts::default(),
            news: FxHashMap::default(),
            began_at: position,
            recent: Recent::new(position),
            fleet,
        };
        let kept: Vec<Sides> = view.fleet.reservations().map(Sides::of).collect();
        for sides in kept {
            view.enter(sides);
        }
        view.counts = count(&view.fleet);
        view
    }

    /// The commit that this is the state after.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The broker's time when the writer last looked: at most a second ago while it works.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Clusters, ledgers and reservations.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// How much there is of everything.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { clusters: self.cluster_ids.len(), ..self.counts }
    }

    /// The last commit that changed a promise of which this cluster is a side. What happened before
    /// this process began counts as having happened just then.
    #[must_use]
    pub fn last_change(&self, cluster: &ClusterId, role: Role) -> Position {
        self.news.get(cluster).map_or(self.began_at, |news| match role {
            Role::Requester => news.as_requester,
            Role::Provider => news.as_provider,
        })
    }

    /// Events of this commit and all before it are kept no longer.
    #[must_use]
    pub fn trimmed_through(&self) -> Position {
        self.trimmed_through
    }

    /// What happened last, the newest first: as much as is at hand.
    pub fn latest(&self) -> impl Iterator<Item = &Arc<Told>> {
        self.recent.latest()
    }

    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    /// The operator has changed the limits of time.
    pub(crate) fn keep_time_by(&mut self, policy: &Policy, now: Timestamp) {
        self.fleet.keep_time_by(policy, now);
    }

    /// Time has passed. What another broker has decided may be a little older.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// Notes that a cluster said the same again, if it did and that need not be durable.
    pub(crate) fn refresh(
        &mut self,
        cluster: &ClusterId,
        advertisement: &Advertisement,
        holding: Option<&[Holding]>,
    ) -> bool {
        refreshment(&self.fleet, cluster, advertisement, holding, self.now)
            .is_some_and(|change| self.fleet.apply(change).is_ok())
    }

    /// Follows a batch that is durable, or needs not be. Returns whom it concerns.
    pub(crate) fn follow(&mut self, batch: Batch) -> Result<BTreeSet<ClusterId>, Divergence> {
        self.position = batch.position;
        self.trimmed_through = self.trimmed_through.max(batch.trim_through.unwrap_or_default());
        let mut touched = BTreeSet::new();
        for change in batch.changes {
            self.follow_change(change, &mut touched)?;
        }
        for (place, event) in (0..).zip(batch.events) {
            let told = Told::new(self.position, place, event, &self.fleet);
            touched.extend(told.concerns.iter().cloned());
            self.recent.push(told);
        }
        Ok(touched)
    }

    fn follow_change(
        &mut self,
        change: Change,
        touched: &mut BTreeSet<ClusterId>,
    ) -> Result<(), Divergence> {
        match &change {
            Change::Cluster(record) => {
                self.cluster_ids.insert(record.id.clone());
            }
            Change::Heard { cluster, .. } => {
                self.cluster_ids.insert(cluster.clone());
            }
            Change::Forgotten(cluster) => {
                // Its news stays: the last of its promises have just ended, and it may be waiting for that.
                self.cluster_ids.remove(cluster);
            }
            Change::Reservation(after) => self.note(after, touched),
            Change::Dropped(id) => self.leave(*id),
            Change::Refreshed { .. } | Change::Ledger { .. } | Change::RecoveryEnded { .. } => {}
        }
        self.fleet.apply(change)
    }

    fn note(&mut self, after: &Reservation, touched: &mut BTreeSet<ClusterId>) {
        if let Some(before) = self.fleet.reservation(after.id) {
            *self.counts.of(&before.phase) -= 1;
        }
        *self.counts.of(&after.phase) += 1;
        let (position, began_at) = (self.position, self.began_at);
        let unknown = News { as_requester: began_at, as_provider: began_at };
        touched.extend([after.requester().clone(), after.provider.clone()]);
        self.news.entry(after.requester().clone()).or_insert(unknown).as_requester = position;
        self.news.entry(after.provider.clone()).or_insert(unknown).as_provider = position;
        self.enter(Sides::of(after));
    }

    fn enter(&mut self, sides: Sides) {
        let Sides { id, requester, provider } = sides;
        if self.reservation_ids.insert(id) {
            self.by_requester.entry(requester).or_default().insert(id);
            self.by_provider.entry(provider).or_default().insert(id);
        }
    }

    fn leave(&mut self, id: ReservationId) {
        let Some(gone) = self.fleet.reservation(id) else { return };
        *self.counts.of(&gone.phase) -= 1;
        self.reservation_ids.remove(&id);
        take_out(&mut self.by_requester, gone.requester(), id);
        take_out(&mut self.by_provider, &gone.provider, id);
        for side in [gone.requester(), &gone.provider] {
            let remembered = self.cluster_ids.contains(side)
                || self.by_requester.contains_key(side)
                || self.by_provider.contains_key(side);
            if !remembered {
                self.news.remove(side);
            }
        }
    }
}

/// A reservation's place in the indexes.
struct Sides {
    id: ReservationId,
    requester: ClusterId,
    provider: ClusterId,
}

impl Sides {
    fn of(kept: &Reservation) -> Self {
        Self { id: kept.id, requester: kept.requester().clone(), provider: kept.provider.clone() }
    }
}

impl Counts {
    fn of(&mut self, phase: &Phase) -> &mut usize {
        match phase {
            Phase::Reserved(_) => &mut self.reserved,
            Phase::Active(_) => &mut self.active,
            Phase::Released(_) => &mut self.released,
            Phase::Failed(_) => &mut self.failed,
        }
    }
}

fn count(fleet: &Fleet) -> Counts {
    let mut counts = Counts::default();
    fleet.reservations().for_each(|kept| *counts.of(&kept.phase) += 1);
    counts
}

fn take_out(
    index: &mut FxHashMap<ClusterId, BTreeSet<ReservationId>>,
    cluster: &ClusterId,
    id: ReservationId,
) {
    if let Some(ids) = index.get_mut(cluster) {
        ids.remove(&id);
        if ids.is_empty() {
            index.remove(cluster);
        }
    }
}
