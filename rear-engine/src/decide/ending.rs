//! Ending reservations, one or many: every ending gives its capacity back in the same decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::Fleet;
use crate::id::ClusterId;
use crate::ledger::Draft;
use crate::refusal::Refusal;
use crate::reservation::{Ending, Reservation};
use crate::time::Timestamp;

/// Endings that are decided together.
pub(super) struct Endings<'a> {
    fleet: &'a Fleet,
    now: Timestamp,
    by: Actor,
    /// The ledgers of the providers as they will be, in order of their ids.
    ledgers: BTreeMap<&'a ClusterId, Draft<'a>>,
    changes: Vec<Change>,
    events: Vec<Event>,
}

impl<'a> Endings<'a> {
    pub(super) fn new(fleet: &'a Fleet, by: Actor, now: Timestamp) -> Self {
        let (ledgers, changes, events) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { fleet, now, by, ledgers, changes, events }
    }

    pub(super) fn are_by_an_administrator(&self) -> bool {
        matches!(self.by, Actor::Administrator(_))
    }

    /// Ends one live reservation.
    pub(super) fn end(&mut self, reservation: &'a Reservation, how: Ending) -> Result<(), Refusal> {
        let ended = reservation.phase.clone().ended(self.now, how.clone());
        let phase = ended.map_err(|_| Refusal::AlreadyEnded(reservation.id))?;
        let provider = &reservation.provider;
        let cluster = self.fleet.cluster(provider);
        let cluster = cluster.ok_or_else(|| Refusal::UnknownCluster(provider.clone()))?;
        let ledger = self.ledgers.entry(provider).or_insert_with(|| Draft::of(cluster.ledger()));
        ledger
            .give_back(reservation.requester(), reservation.held())
            .map_err(|source| Refusal::Ledger { cluster: provider.clone(), source })?;
        let ended = Reservation { phase, ..reservation.clone() };
        self.changes.push(Change::Reservation(Arc::new(ended)));
        self.tell(Subject::Reservation(reservation.id), Happening::Ended(how));
        Ok(())
    }

    fn tell(&mut self, subject: Subject, what: Happening) {
        self.events.push(Event { at: self.now, subject, what, by: self.by.clone() });
    }

    /// The decision, with the ledgers after all endings.
    pub(super) fn decide(mut self, subject: Subject) -> Decision {
        for (cluster, ledger) in std::mem::take(&mut self.ledgers) {
            let total = ledger.total();
            if self.recovers(cluster, &ledger) {
                self.tell(Subject::Cluster(cluster.clone()), Happening::NoLongerOvercommitted);
            }
            self.changes.push(Change::Ledger { cluster: cluster.clone(), total });
        }
        Decision { subject, changes: self.changes, events: self.events }
    }

    fn recovers(&self, id: &ClusterId, after: &Draft<'_>) -> bool {
        let Some(cluster) = self.fleet.cluster(id) else {
            return false;
        };
        let Some(advertisement) = cluster.record().advertisement() else {
            return false;
        };
        cluster.is_overcommitted() && !after.available(advertisement).is_overcommitted()
    }
}
