//! Everything the engine knows, in memory: clusters with their ledgers, reservations, and what is derived from them.
//!
//! A fleet changes only by [`Fleet::apply`], with the changes of a decision or the records of a store.

mod apply;
mod timeline;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::advertisement::Advertisement;
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::ledger::{Available, Ledger};
use crate::place::index::{Index, RowNumber};
use crate::policy::Policy;
use crate::reservation::Reservation;
use crate::time::Timestamp;
use timeline::Timeline;

pub use apply::Divergence;
pub use undo::Undo;

/// The first life of a ledger; each restore from a backup starts the next.
pub const FIRST_INCARNATION: u64 = 1;

/// Clusters, their ledgers and their reservations.
#[derive(Debug, Clone)]
pub struct Fleet {
    policy: Policy,
    incarnation: u64,
    /// Every cluster is known to hold nothing else from incarnations up to this one.
    recovered_through: u64,
    /// Nobody could be heard before this: the broker was not there.
    listening_since: Timestamp,
    clusters: FxHashMap<ClusterId, Cluster>,
    /// Shared with whoever else follows the same changes: they are many, and never change.
    reservations: FxHashMap<ReservationId, Arc<Reservation>>,
    by_requester: FxHashMap<ClusterId, Made>,
    timeline: Timeline,
    /// Clusters that may get promises.
    index: Index,
    /// Clusters that advertise and may get none: stale, overcommitted, recovering.
    sidelined: BTreeSet<ClusterId>,
}

/// What one requester has reserved.
#[derive(Debug, Clone, Default)]
struct Made {
    live: BTreeSet<ReservationId>,
    /// Ordered, not hashed: keys are chosen by clients, who could make hashes collide.
    by_key: BTreeMap<IdempotencyKey, ReservationId>,
    /// With those that have ended and are remembered.
    all: usize,
}

/// A cluster as the broker sees it.
#[derive(Debug, Clone)]
pub struct Cluster {
    record: ClusterRecord,
    /// When its freshness was last made durable.
    freshness_kept_at: Option<Timestamp>,
    /// When its last sign of life was last made durable.
    presence_kept_at: Option<Timestamp>,
    ledger: Ledger,
    live: BTreeSet<ReservationId>,
    /// Where it is in the index, if it may get promises.
    row: Option<RowNumber>,
}

/// What is remembered of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRecord {
    /// Its name.
    pub id: ClusterId,
    /// What it says of itself; `None` for one that only asks.
    pub advertised: Option<Advertised>,
    /// Its last sign of life over the API; `None` for one that was never heard.
    pub heard_at: Option<Timestamp>,
    /// Its advertisement was too old when last looked at.
    pub stale: bool,
    /// The last incarnation in which it said what it holds.
    pub recovered_in: u64,
}

/// An advertisement and when it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// What the cluster says.
    pub advertisement: Advertisement,
    /// When it last said so, by the broker's clock.
    pub received_at: Timestamp,
}

impl ClusterRecord {
    /// A cluster of which nothing is known yet.
    #[must_use]
    pub fn new(id: ClusterId) -> Self {
        Self { id, advertised: None, heard_at: None, stale: false, recovered_in: 0 }
    }

    /// What it says of itself.
    #[must_use]
    pub fn advertisement(&self) -> Option<&Advertisement> {
        self.advertised.as_ref().map(|advertised| &advertised.advertisement)
    }

    /// Whether it may hold promises of an earlier incarnation that the ledger does not know.
    fn is_recovering(&self, recovered_through: u64, incarnation: u64) -> bool {
        self.recovered_in.max(recovered_through) < incarnation
    }
}

impl Fleet {
    /// An empty fleet in its first incarnation.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::restored(policy, FIRST_INCARNATION, FIRST_INCARNATION)
    }

    /// An empty fleet in a given incarnation, to be filled from records. Clusters that have not said
    /// what they hold since `recovered_through` are recovering.
    #[must_use]
    pub fn restored(policy: Policy, incarnation: u64, recovered_through: u64) -> Self {
        Self {
            index: Index::new(&policy),
            policy,
            incarnation,
            recovered_through,
            listening_since: Timestamp::from_nanos(i64::MIN),
            clusters: FxHashMap::default(),
            reservations: FxHashMap::default(),
            by_requester: FxHashMap::default(),
            timeline: Timeline::default(),
            sidelined: BTreeSet::new(),
        }
    }

    /// From now on requesters can be heard, or as exactly as it matters. Nobody is taken for gone before they had time to be.
    pub fn listen_from(&mut self, now: Timestamp) {
        self.listening_since = now;
    }

    /// Since when requesters can be heard.
    #[must_use]
    pub fn listening_since(&self) -> Timestamp {
        self.listening_since
    }

    /// Until then nobody is taken for gone: their silence may be the broker's own.
    #[must_use]
    pub(crate) fn gone_not_before(&self) -> Timestamp {
        self.listening_since.plus(self.policy.grace_after_start())
    }

    /// From now on the limits of time and number of another policy count. Weights, strategy, share of cost and currency stay: the
    /// index rests on them.
    ///
    /// When requesters gave their last sign was remembered as exactly as the old limit needs: under a shorter one, everyone has
    /// the time to give another.
    pub fn keep_time_by(&mut self, policy: &Policy, now: Timestamp) {
        if policy.requester_gone_after < self.policy.requester_gone_after {
            self.listen_from(now);
        }
        let Policy {
            weights: _,
            strategy: _,
            cost_share: _,
            currency: _,
            stale_after,
            requester_gone_after,
            default_duration,
            max_duration,
            ended_kept_for,
            max_reservations,
        } = *policy;
        self.policy.stale_after = stale_after;
        self.policy.requester_gone_after = requester_gone_after;
        self.policy.default_duration = default_duration;
        self.policy.max_duration = max_duration;
        self.policy.ended_kept_for = ended_kept_for;
        self.policy.max_reservations = max_reservations;
    }

    /// The operator's rules.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Which life of the ledger this is.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// One cluster.
    #[must_use]
    pub fn cluster(&self, id: &ClusterId) -> Option<&Cluster> {
        self.clusters.get(id)
    }

    /// Every cluster, in no order.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.clusters.values()
    }

    /// One reservation, live or ended.
    #[must_use]
    pub fn reservation(&self, id: ReservationId) -> Option<&Reservation> {
        self.reservations.get(&id).map(Arc::as_ref)
    }

    /// The same, for whoever keeps it.
    #[must_use]
    pub fn shared_reservation(&self, id: ReservationId) -> Option<Arc<Reservation>> {
        self.reservations.get(&id).cloned()
    }

    /// Every reservation that is remembered, in no order.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values().map(Arc::as_ref)
    }

    /// The reservation that a requester made under this key.
    #[must_use]
    pub fn reservation_by_key(
        &self,
        requester: &ClusterId,
        key: &IdempotencyKey,
    ) -> Option<&Reservation> {
        let id = self.by_requester.get(requester)?.by_key.get(key)?;
        self.reservation(*id)
    }

    /// The live promises to a requester, oldest first.
    pub fn live_of_requester(&self, requester: &ClusterId) -> impl Iterator<Item = &Reservation> {
        let ids = self.by_requester.get(requester).into_iter().flat_map(|made| &made.live);
        ids.filter_map(|id| self.reservation(*id))
    }

    /// How many reservations of a requester there are, live or ended and remembered.
    #[must_use]
    pub fn reservations_of(&self, requester: &ClusterId) -> usize {
        self.by_requester.get(requester).map_or(0, |made| made.all)
    }

    /// The live promises on a provider, oldest first.
    pub fn live_of_provider(&self, provider: &ClusterId) -> impl Iterator<Item = &Reservation> {
        let ids = self.clusters.get(provider).into_iter().flat_map(|cluster| &cluster.live);
        ids.filter_map(|id| self.reservation(*id))
    }

    /// The next moment at which [`Command::Expire`], [`Command::MarkStale`] or [`Command::Retire`] has
    /// something to do.
    ///
    /// [`Command::Expire`]: crate::command::Command::Expire
    /// [`Command::MarkStale`]: crate::command::Command::MarkStale
    /// [`Command::Retire`]: crate::command::Command::Retire
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let stale = self.timeline.oldest_advertisement().map(|at| at.plus(self.policy.stale_after));
        let faded = self.timeline.oldest_ending().map(|at| at.plus(self.policy.remembered_for()));
        [self.next_end(), stale, faded].into_iter().flatten().min()
    }

    /// When the next reservation ends by itself, which gives back room: because its end comes, or because its requester is gone.
    #[must_use]
    pub fn next_end(&self) -> Option<Timestamp> {
        let gone_at = |sign: Timestamp| sign.plus(self.policy.requester_gone_after);
        let gone = self.timeline.oldest_sign().map(gone_at);
        let gone = gone.map(|at| at.max(self.gone_not_before()));
        [self.timeline.next_end(), gone].into_iter().flatten().min()
    }

    /// What is due, in the order in which it became due.
    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Clusters that advertise and may get no promises, in order of their ids.
    pub(crate) fn sidelined(&self) -> &BTreeSet<ClusterId> {
        &self.sidelined
    }

    /// Whether this cluster may hold promises that the ledger does not know, after a restore.
    #[must_use]
    pub fn is_recovering(&self, record: &ClusterRecord) -> bool {
        record.is_recovering(self.recovered_through, self.incarnation)
    }

    /// Whether the last advertisement is recent enough for new promises.
    #[must_use]
    pub fn is_fresh(&self, record: &ClusterRecord, now: Timestamp) -> bool {
        let recent =
            |advertised: &Advertised| now.since(advertised.received_at) < self.policy.stale_after;
        !record.stale && record.advertised.as_ref().is_some_and(recent)
    }

    /// Whether every cluster of the index is fresh: none of them is marked as stale, so that it is enough to
    /// look at the oldest advertisement of those that are not.
    pub(crate) fn index_is_fresh(&self, now: Timestamp) -> bool {
        let recent = |at: Timestamp| now.since(at) < self.policy.stale_after;
        self.timeline.oldest_advertisement().is_none_or(recent)
    }
}

impl Cluster {
    /// What is remembered of it.
    #[must_use]
    pub fn record(&self) -> &ClusterRecord {
        &self.record
    }

    /// What is promised on it.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What is left on it; `None` for one that does not advertise.
    #[must_use]
    pub fn available(&self) -> Option<Available> {
        self.record.advertisement().map(|advertisement| self.ledger.available(advertisement))
    }

    /// Whether it has promised or used more than it has.
    #[must_use]
    pub fn is_overcommitted(&self) -> bool {
        self.available().is_some_and(Available::is_overcommitted)
    }

    pub(crate) fn freshness_kept_at(&self) -> Option<Timestamp> {
        self.freshness_kept_at
    }

    pub(crate) fn presence_kept_at(&self) -> Option<Timestamp> {
        self.presence_kept_at
    }
}
