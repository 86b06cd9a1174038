//! Why nobody has room: the closest clusters, and what each of them lacks.

use std::collections::BinaryHeap;

use super::columns::probe::{Goal, Probe};
use super::filter::{filled, reason};
use super::index::Row;
use super::score::WHOLE;
use crate::ask::Ask;
use crate::fleet::Fleet;
use crate::id::ClusterId;
use crate::refusal::{MAX_OBSTACLES, NoRoom, Obstacle};
use crate::time::Timestamp;

/// The explanation of a refusal.
pub(super) fn no_room(fleet: &Fleet, ask: &Ask, now: Timestamp) -> NoRoom {
    NoRoom {
        candidates: closest(fleet, ask, now),
        considered: fleet.index().len() + fleet.sidelined().len(),
    }
}

/// The clusters that come closest without fitting. First those that may get promises, by how much of
/// the request they lack; then those that may not; last the requester itself.
pub(super) fn closest(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Vec<Obstacle> {
    let mut nearest = Nearest { fleet, ask, now, kept: BinaryHeap::new() };
    let probe = Probe::new(ask).towards(Goal::NearlyFits);
    fleet.index().each_above(&probe, |row| {
        nearest.consider(row);
        nearest.floor(&probe)
    });
    let own = ask.requester();
    let listed = nearest.kept.into_sorted_vec().into_iter().map(|entry| entry.cluster);
    let sidelined = fleet.sidelined().iter().filter(|id| *id != own).cloned();
    let obstacle = |cluster: ClusterId| {
        let reason = reason(fleet, fleet.cluster(&cluster)?, ask, now)?;
        Some(Obstacle { cluster, reason })
    };
    let own = fleet.cluster(own).and_then(|cluster| cluster.available().map(|_| own.clone()));
    listed.chain(sidelined).chain(own).filter_map(obstacle).take(MAX_OBSTACLES).collect()
}

/// The closest clusters so far; the heap's greatest entry is the first to give way.
struct Nearest<'a> {
    fleet: &'a Fleet,
    ask: &'a Ask,
    now: Timestamp,
    kept: BinaryHeap<Entry>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// How much of the request is missing, in billionths.
    missing: u64,
    cluster: ClusterId,
}

impl Nearest<'_> {
    fn consider(&mut self, row: &Row) {
        let missing = WHOLE - filled(row.look().available, self.ask);
        for cluster in row.members() {
            if self.is_full()
                && self
                    .kept
                    .peek()
                    .is_some_and(|last| (last.missing, &last.cluster) <= (missing, cluster))
            {
                // Members come in order of their ids: the next ones are no closer.
                return;
            }
            if self.belongs(cluster) {
                self.kept.push(Entry { missing, cluster: cluster.clone() });
                if self.kept.len() > MAX_OBSTACLES {
                    self.kept.pop();
                }
            }
        }
    }

    fn is_full(&self) -> bool {
        self.kept.len() == MAX_OBSTACLES
    }

    fn belongs(&self, id: &ClusterId) -> bool {
        id != self.ask.requester()
            && self
                .fleet
                .cluster(id)
                .is_some_and(|cluster| reason(self.fleet, cluster, self.ask, self.now).is_some())
    }

    /// Keys below this are further away than everything that is kept.
    // Approximate by purpose: it only prunes.
    #[allow(clippy::float_arithmetic, clippy::cast_precision_loss)]
    fn floor(&self, probe: &Probe) -> f32 {
        match self.kept.peek() {
            Some(last) if self.is_full() => {
                (WHOLE - last.missing) as f32 / WHOLE as f32 - probe.margin(1.0)
            }
            _ => f32::NEG_INFINITY,
        }
    }
}
