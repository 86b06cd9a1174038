//! What becomes due when: ends of reservations, requesters that fell silent, clusters that grow stale, memories that fade.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::id::{ClusterId, ReservationId};
use crate::reservation::Reservation;
use crate::time::Timestamp;

/// Ordered by time, so that what is due is found without looking at what is not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    ends: BTreeSet<(Timestamp, ReservationId)>,
    /// Live reservations without an end, by requester.
    endless: FxHashMap<ClusterId, BTreeSet<ReservationId>>,
    /// The last sign of each requester that holds such reservations, if it was ever heard.
    silences: BTreeSet<(Timestamp, ClusterId)>,
    /// The last advertisement of each cluster that is not marked as stale.
    advertisements: BTreeSet<(Timestamp, ClusterId)>,
    /// When the reservations ended that are still remembered.
    over: BTreeSet<(Timestamp, ReservationId)>,
}

impl Timeline {
    /// Reservations whose end is not after `now`.
    pub(crate) fn ended_by(&self, now: Timestamp) -> impl Iterator<Item = ReservationId> {
        self.ends.iter().take_while(move |(end, _)| *end <= now).map(|(_, id)| *id)
    }

    /// The next end of a reservation.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Reservations without an end whose requester gave its last sign no later than `limit`.
    pub(crate) fn silent_since(&self, limit: Timestamp) -> impl Iterator<Item = ReservationId> {
        self.silences
            .iter()
            .take_while(move |(heard, _)| *heard <= limit)
            .filter_map(|(_, requester)| self.endless.get(requester))
            .flatten()
            .copied()
    }

    /// The oldest last sign of a requester that holds reservations without an end.
    pub(crate) fn oldest_sign(&self) -> Option<Timestamp> {
        self.silences.first().map(|(heard, _)| *heard)
    }

    /// Clusters whose last advertisement came no later than `limit`.
    pub(crate) fn unadvertised_since(&self, limit: Timestamp) -> impl Iterator<Item = &ClusterId> {
        self.advertisements.iter().take_while(move |(at, _)| *at <= limit).map(|(_, id)| id)
    }

    /// The oldest advertisement that still counts.
    pub(crate) fn oldest_advertisement(&self) -> Option<Timestamp> {
        self.advertisements.first().map(|(at, _)| *at)
    }

    /// Reservations that ended no later than `limit`.
    pub(crate) fn over_since(&self, limit: Timestamp) -> impl Iterator<Item = ReservationId> {
        self.over.iter().take_while(move |(at, _)| *at <= limit).map(|(_, id)| *id)
    }

    /// When the oldest reservation ended that is still remembered.
    pub(crate) fn oldest_ending(&self) -> Option<Timestamp> {
        self.over.first().map(|(at, _)| *at)
    }

    /// A reservation is over, and remembered for a while.
    pub(super) fn remember(&mut self, ended_at: Timestamp, id: ReservationId) {
        self.over.insert((ended_at, id));
    }

    /// A reservation is remembered no longer.
    pub(super) fn forget(&mut self, ended_at: Timestamp, id: ReservationId) {
        self.over.remove(&(ended_at, id));
    }

    pub(super) fn add(&mut self, reservation: &Reservation, heard: Option<Timestamp>) {
        if let Some(end) = reservation.expires_at {
            self.ends.insert((end, reservation.id));
            return;
        }
        let requester = reservation.requester();
        self.endless.entry(requester.clone()).or_default().insert(reservation.id);
        if let Some(heard) = heard {
            self.silences.insert((heard, requester.clone()));
        }
    }

    pub(super) fn remove(&mut self, reservation: &Reservation, heard: Option<Timestamp>) {
        if let Some(end) = reservation.expires_at {
            self.ends.remove(&(end, reservation.id));
            return;
        }
        let requester = reservation.requester();
        let Some(ids) = self.endless.get_mut(requester) else {
            return;
        };
        ids.remove(&reservation.id);
        if ids.is_empty() {
            self.endless.remove(requester);
            if let Some(heard) = heard {
                self.silences.remove(&(heard, requester.clone()));
            }
        }
    }

    /// A requester's last sign of life moves.
    pub(super) fn move_sign(
        &mut self,
        requester: &ClusterId,
        before: Option<Timestamp>,
        after: Option<Timestamp>,
    ) {
        if let Some(before) = before {
            self.silences.remove(&(before, requester.clone()));
        }
        if let Some(after) = after
            && self.endless.contains_key(requester)
        {
            self.silences.insert((after, requester.clone()));
        }
    }

    /// A cluster's last advertisement that counts moves.
    pub(super) fn move_advertisement(
        &mut self,
        cluster: &ClusterId,
        before: Option<Timestamp>,
        after: Option<Timestamp>,
    ) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.advertisements.remove(&(before, cluster.clone()));
        }
        if let Some(after) = after {
            self.advertisements.insert((after, cluster.clone()));
        }
    }
}
