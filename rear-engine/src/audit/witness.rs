//! The audit of a history: a second, plainer memory of what was decided, asked about each decision.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use crate::advertisement::{Advertisement, Order};
use crate::decision::{Change, Decision, Happening, Subject};
use crate::duration::Duration;
use crate::fleet::{ClusterRecord, Fleet};
use crate::id::{ClusterId, ReservationId};
use crate::reservation::{Phase, Release, Released, Reservation};
use crate::resources::{DIMENSIONS, Dimension, Resources};
use crate::time::Timestamp;

/// Remembers what was decided, as plainly as possible, and objects to what was not allowed.
#[derive(Debug, Clone)]
pub struct Witness {
    /// How long a requester must be silent before it counts as gone.
    gone_after: Duration,
    advertisements: BTreeMap<ClusterId, (Advertisement, Timestamp)>,
    reservations: BTreeMap<ReservationId, Reservation>,
    heard: BTreeMap<ClusterId, Timestamp>,
}

/// What a decision says of itself.
struct Told<'a> {
    /// The cluster that advertises.
    advertiser: Option<&'a ClusterId>,
    /// Promises that only their provider remembered.
    adopted: BTreeSet<ReservationId>,
    /// The cluster that is declared gone.
    forgotten: Option<&'a ClusterId>,
}

impl<'a> Told<'a> {
    fn of(decision: &'a Decision) -> Self {
        let mut told = Self { advertiser: None, adopted: BTreeSet::new(), forgotten: None };
        for event in &decision.events {
            match (&event.what, &event.subject) {
                (Happening::Advertised, Subject::Cluster(id)) => told.advertiser = Some(id),
                (Happening::Adopted, Subject::Reservation(id)) => {
                    told.adopted.insert(*id);
                }
                (Happening::Forgotten, Subject::Cluster(id)) => told.forgotten = Some(id),
                _ => {}
            }
        }
        told
    }
}

/// What older means: by the agent's own count where both have one, else by its clock, for a minute.
fn is_older(
    new: (Option<Order>, Timestamp),
    kept: (Option<Order>, Timestamp),
    received: Timestamp,
    now: Timestamp,
) -> bool {
    let one_minute = 60 * 1_000_000_000;
    match (new.0, kept.0) {
        (Some(new), Some(kept)) => (new.epoch, new.sequence) < (kept.epoch, kept.sequence),
        (Some(_), None) => false,
        (None, _) => new.1 < kept.1 && now.as_nanos() - received.as_nanos() <= one_minute,
    }
}

impl Witness {
    /// A witness who comes in later and takes the fleet as it is.
    #[must_use]
    pub fn of(fleet: &Fleet) -> Self {
        let advertised = fleet.clusters().filter_map(|cluster| {
            let kept = cluster.record().advertised.clone()?;
            Some((cluster.record().id.clone(), (kept.advertisement, kept.received_at)))
        });
        let reservations = fleet.reservations().map(|kept| (kept.id, kept.clone()));
        let heard = fleet
            .clusters()
            .filter_map(|cluster| Some((cluster.record().id.clone(), cluster.record().heard_at?)));
        Self {
            gone_after: fleet.policy().requester_gone_after,
            advertisements: advertised.collect(),
            reservations: reservations.collect(),
            heard: heard.collect(),
        }
    }

    /// Looks at a decision that is about to become true, and remembers it.
    pub fn observe(&mut self, decision: &Decision, now: Timestamp) -> Result<(), Violation> {
        let told = Told::of(decision);
        let mut moved: Vec<ClusterId> = Vec::new();
        let mut granted: Vec<ReservationId> = Vec::new();
        for change in &decision.changes {
            match change {
                Change::Cluster(record) => self.see_cluster(record, now)?,
                Change::Refreshed { cluster, at, timestamp, order, .. } => {
                    self.see_refreshment(cluster, *at, *timestamp, *order, now)?;
                }
                Change::Reservation(new) => {
                    let adopted = told.adopted.contains(&new.id);
                    let is_new = !self.reservations.contains_key(&new.id);
                    let by_its_provider = adopted
                        && told.advertiser == Some(&new.provider)
                        && (is_new || self.only_ends_later(new));
                    if told.advertiser.is_some() && !by_its_provider {
                        return Err(Violation::Advertisement { cluster: new.provider.clone() });
                    }
                    if self.see_reservation(new, adopted, &told, now)? {
                        moved.push(new.provider.clone());
                    }
                    if is_new && !adopted {
                        granted.push(new.id);
                    }
                }
                Change::Ledger { cluster, total } => {
                    moved.retain(|other| other != cluster);
                    self.see_ledger(cluster, *total)?;
                }
                Change::Forgotten(cluster) => self.see_forgotten(cluster)?,
                Change::Dropped(id) => self.see_dropped(*id)?,
                Change::Heard { cluster, at, .. } => {
                    self.heard.insert(cluster.clone(), *at);
                }
                Change::RecoveryEnded { .. } => {}
            }
        }
        match moved.pop() {
            Some(cluster) => Err(Violation::NotGivenBack { cluster }),
            None => granted.into_iter().try_for_each(|id| self.see_grant(id)),
        }
    }

    fn see_cluster(&mut self, record: &ClusterRecord, now: Timestamp) -> Result<(), Violation> {
        if let Some(heard) = record.heard_at {
            self.heard.insert(record.id.clone(), heard);
        }
        let Some(advertised) = &record.advertised else {
            return Ok(());
        };
        let new = (advertised.advertisement.clone(), advertised.received_at);
        let Some((kept, received)) = self.advertisements.get(&record.id) else {
            self.advertisements.insert(record.id.clone(), new);
            return Ok(());
        };
        if is_older((new.0.order, new.0.timestamp), (kept.order, kept.timestamp), *received, now) {
            return Err(Violation::Advertisement { cluster: record.id.clone() });
        }
        self.advertisements.insert(record.id.clone(), new);
        Ok(())
    }

    fn see_refreshment(
        &mut self,
        cluster: &ClusterId,
        at: Timestamp,
        timestamp: Timestamp,
        order: Option<Order>,
        now: Timestamp,
    ) -> Result<(), Violation> {
        let wrong = || Violation::Advertisement { cluster: cluster.clone() };
        let (kept, received) = self.advertisements.get_mut(cluster).ok_or_else(wrong)?;
        if is_older((order, timestamp), (kept.order, kept.timestamp), *received, now) {
            return Err(wrong());
        }
        kept.timestamp = timestamp;
        kept.order = order;
        *received = at;
        Ok(())
    }

    fn see_forgotten(&mut self, cluster: &ClusterId) -> Result<(), Violation> {
        let lives = |kept: &&Reservation| {
            matches!(kept.phase, Phase::Reserved(_) | Phase::Active(_))
                && (kept.provider == *cluster || kept.ask.requester() == cluster)
        };
        if self.reservations.values().any(|kept| lives(&kept)) {
            return Err(Violation::NotGivenBack { cluster: cluster.clone() });
        }
        self.advertisements.remove(cluster);
        self.heard.remove(cluster);
        Ok(())
    }

    fn see_dropped(&mut self, id: ReservationId) -> Result<(), Violation> {
        let ended = |kept: Reservation| matches!(kept.phase, Phase::Released(_) | Phase::Failed(_));
        if self.reservations.remove(&id).is_some_and(ended) {
            return Ok(());
        }
        Err(Violation::Backwards { reservation: id })
    }

    /// All that an advertisement may change of a promise that is known.
    fn only_ends_later(&self, new: &Reservation) -> bool {
        self.reservations.get(&new.id).is_some_and(|before| {
            let later = before.expires_at.zip(new.expires_at).is_some_and(|(old, new)| new > old);
            let lives = matches!(before.phase, Phase::Reserved(_) | Phase::Active(_));
            later
                && lives
                && Reservation { expires_at: before.expires_at, ..new.clone() } == *before
        })
    }

    /// Whether capacity moved.
    fn see_reservation(
        &mut self,
        new: &Reservation,
        adopted: bool,
        told: &Told<'_>,
        now: Timestamp,
    ) -> Result<bool, Violation> {
        let id = new.id;
        let backwards = Violation::Backwards { reservation: id };
        let before = self.reservations.insert(id, new.clone());
        let Some(before) = before else {
            self.see_key(new)?;
            let starts =
                matches!(new.phase, Phase::Reserved(_)) && (new.reserved_at == now || adopted);
            return if starts { Ok(true) } else { Err(backwards) };
        };
        let rank = |phase: &Phase| match phase {
            Phase::Reserved(_) => 0,
            Phase::Active(_) => 1,
            Phase::Released(_) | Phase::Failed(_) => 2,
        };
        let same_terms = before.ask == new.ask
            && before.provider == new.provider
            && before.key == new.key
            && before.reserved_at == new.reserved_at;
        if !same_terms || rank(&before.phase) == 2 || rank(&before.phase) > rank(&new.phase) {
            return Err(backwards);
        }
        self.see_ending(&before, new, told, now)?;
        let prolonged = new.expires_at != before.expires_at;
        if prolonged && new.expires_at.is_none_or(|end| end <= now) {
            return Err(backwards);
        }
        Ok(rank(&new.phase) == 2)
    }

    /// What ends by itself ends when it is due: not before its end, not while its requester is heard of.
    fn see_ending(
        &self,
        before: &Reservation,
        new: &Reservation,
        told: &Told<'_>,
        now: Timestamp,
    ) -> Result<(), Violation> {
        let Phase::Released(Released { at, why }) = new.phase else {
            return Ok(());
        };
        let requester = new.ask.requester();
        let early = match why {
            Release::Expired => before.expires_at.is_none_or(|end| end > at || end > now),
            Release::RequesterGone => {
                let silent = |heard: &Timestamp| now.since(*heard) >= self.gone_after;
                told.forgotten != Some(requester) && !self.heard.get(requester).is_some_and(silent)
            }
            Release::ByRequester | Release::ByAdministrator => false,
        };
        if early { Err(Violation::EndedEarly { reservation: new.id }) } else { Ok(()) }
    }

    fn see_key(&self, new: &Reservation) -> Result<(), Violation> {
        let Some(key) = &new.key else { return Ok(()) };
        let same = |old: &&Reservation| {
            old.id != new.id
                && old.key.as_ref() == Some(key)
                && old.ask.requester() == new.ask.requester()
        };
        match self.reservations.values().find(same) {
            Some(old) => Err(Violation::KeyShared { first: old.id, second: new.id }),
            None => Ok(()),
        }
    }

    fn see_ledger(&self, cluster: &ClusterId, total: Resources) -> Result<(), Violation> {
        for dimension in Dimension::ALL {
            let sum: u128 =
                self.live_on(cluster).map(|(_, held)| u128::from(held.get(dimension))).sum();
            let ledger = total.get(dimension);
            if u128::from(ledger) != sum {
                let cluster = cluster.clone();
                return Err(Violation::LedgerMismatch { cluster, dimension, ledger, sum });
            }
        }
        Ok(())
    }

    /// At the moment of each grant, nothing is left below zero. (Adoption may overcommit: the promise
    /// was made before.)
    fn see_grant(&self, id: ReservationId) -> Result<(), Violation> {
        let Some(granted) = self.reservations.get(&id) else {
            return Ok(());
        };
        let left = self.left_on(&granted.provider);
        for dimension in Dimension::ALL {
            let available = left[dimension.index()];
            if available < 0 {
                let (reservation, cluster) = (id, granted.provider.clone());
                return Err(Violation::GrantedTwice { reservation, cluster, dimension, available });
            }
        }
        Ok(())
    }

    fn live_on(&self, cluster: &ClusterId) -> impl Iterator<Item = (&ClusterId, Resources)> {
        self.reservations
            .values()
            .filter(move |kept| kept.provider == *cluster)
            .filter(|kept| matches!(kept.phase, Phase::Reserved(_) | Phase::Active(_)))
            .map(|kept| (kept.ask.requester(), kept.ask.resources()))
    }

    /// The formula of DESIGN §2, from the records alone.
    fn left_on(&self, cluster: &ClusterId) -> [i128; DIMENSIONS] {
        let Some((told, _)) = self.advertisements.get(cluster) else {
            return [-1; DIMENSIONS];
        };
        let mut reserved: BTreeMap<&ClusterId, [i128; DIMENSIONS]> = BTreeMap::new();
        for (requester, held) in self.live_on(cluster) {
            let sum = reserved.entry(requester).or_default();
            for dimension in Dimension::ALL {
                sum[dimension.index()] += i128::from(held.get(dimension));
            }
        }
        Dimension::ALL.map(|dimension| {
            let of = |amounts: Resources| i128::from(amounts.get(dimension));
            let outstanding: i128 = reserved
                .iter()
                .map(|(q, sum)| (sum[dimension.index()] - of(told.consumed.by(q))).max(0))
                .sum();
            of(told.allocatable) - of(told.allocated) - outstanding
        })
    }
}
