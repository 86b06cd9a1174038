//! The audit of a history: a second, plainer memory of what was decided, asked about each decision.

use std::collections::BTreeMap;

use super::Violation;
use crate::advertisement::Advertisement;
use crate::decision::{Change, Decision, Happening, Subject};
use crate::fleet::{ClusterRecord, Fleet};
use crate::id::{ClusterId, ReservationId};
use crate::reservation::{Phase, Release, Released, Reservation};
use crate::resources::{DIMENSIONS, Dimension, Resources};
use crate::time::Timestamp;

/// Remembers what was decided, as plainly as possible, and objects to what was not allowed.
#[derive(Debug, Default, Clone)]
pub struct Witness {
    advertisements: BTreeMap<ClusterId, (Advertisement, Timestamp)>,
    reservations: BTreeMap<ReservationId, Reservation>,
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
        Self { advertisements: advertised.collect(), reservations: reservations.collect() }
    }

    /// Looks at a decision that is about to become true, and remembers it.
    pub fn observe(&mut self, decision: &Decision, now: Timestamp) -> Result<(), Violation> {
        let adopts = decision.events.iter().any(|event| event.what == Happening::Adopted);
        let advertises = decision.events.iter().any(|event| event.what == Happening::Advertised);
        let mut moved: Vec<ClusterId> = Vec::new();
        for change in &decision.changes {
            match change {
                Change::Cluster(record) => self.see_cluster(record, now)?,
                Change::Refreshed { cluster, at, timestamp, order, .. } => {
                    if let Some((kept, received)) = self.advertisements.get_mut(cluster) {
                        kept.timestamp = *timestamp;
                        kept.order = *order;
                        *received = *at;
                    }
                }
                Change::Reservation(reservation) => {
                    if advertises && !adopts {
                        let cluster = reservation.provider.clone();
                        return Err(Violation::Advertisement { cluster });
                    }
                    if self.see_reservation(reservation, adopts, now)? {
                        moved.push(reservation.provider.clone());
                    }
                }
                Change::Ledger { cluster, total } => {
                    moved.retain(|other| other != cluster);
                    self.see_ledger(cluster, *total)?;
                }
                Change::Forgotten(cluster) => {
                    self.advertisements.remove(cluster);
                }
                Change::Dropped(id) => {
                    self.reservations.remove(id);
                }
                Change::Heard { .. } | Change::RecoveryEnded { .. } => {}
            }
        }
        match moved.pop() {
            Some(cluster) => Err(Violation::NotGivenBack { cluster }),
            None => self.see_grant(decision, adopts),
        }
    }

    fn see_cluster(&mut self, record: &ClusterRecord, now: Timestamp) -> Result<(), Violation> {
        let Some(advertised) = &record.advertised else {
            return Ok(());
        };
        let new = (advertised.advertisement.clone(), advertised.received_at);
        let Some((kept, received)) = self.advertisements.get(&record.id) else {
            self.advertisements.insert(record.id.clone(), new);
            return Ok(());
        };
        let one_minute = 60 * 1_000_000_000;
        let older = match (new.0.order, kept.order) {
            (Some(new), Some(kept)) => (new.epoch, new.sequence) < (kept.epoch, kept.sequence),
            (Some(_), None) => false,
            (None, _) => {
                new.0.timestamp < kept.timestamp
                    && now.as_nanos() - received.as_nanos() <= one_minute
            }
        };
        if older {
            return Err(Violation::Advertisement { cluster: record.id.clone() });
        }
        self.advertisements.insert(record.id.clone(), new);
        Ok(())
    }

    /// Whether capacity moved.
    fn see_reservation(
        &mut self,
        new: &Reservation,
        adopted: bool,
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
        if let Phase::Released(Released { at, why: Release::Expired }) = new.phase
            && before.expires_at.is_none_or(|end| end > at || end > now)
        {
            return Err(Violation::EndedEarly { reservation: id });
        }
        Ok(rank(&new.phase) == 2)
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
    fn see_grant(&self, decision: &Decision, adopts: bool) -> Result<(), Violation> {
        for event in &decision.events {
            let (Happening::Reserved, Subject::Reservation(id)) = (&event.what, &event.subject)
            else {
                continue;
            };
            let Some(granted) = self.reservations.get(id).filter(|_| !adopts) else {
                continue;
            };
            let left = self.left_on(&granted.provider);
            for dimension in Dimension::ALL {
                let available = left[dimension.index()];
                if available < 0 {
                    let (reservation, cluster) = (*id, granted.provider.clone());
                    return Err(Violation::GrantedTwice {
                        reservation,
                        cluster,
                        dimension,
                        available,
                    });
                }
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
