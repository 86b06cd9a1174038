//! Advertise: a cluster says what it has. The ledger does not change by it, except by adoption after a restore.

use std::sync::Arc;

use super::adopt::{Held, adopt};
use crate::advertisement::{Advertisement, Holding, Order};
use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::{Advertised, Cluster, ClusterRecord, Fleet};
use crate::id::ClusterId;
use crate::ledger::{Available, Ledger, check_consumed};
use crate::refusal::Refusal;
use crate::reservation::Reservation;
use crate::time::Timestamp;

pub(super) fn advertise(
    fleet: &Fleet,
    id: &ClusterId,
    mut advertisement: Advertisement,
    held: Held,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    check_consumed(&advertisement)?;
    let known = fleet.cluster(id);
    let before =
        known.map_or_else(|| ClusterRecord::new(id.clone()), |known| known.record().clone());
    if let Some(kept) = &before.advertised
        && !advertisement.may_replace(&kept.advertisement, now.since(kept.received_at))
    {
        return Err(Refusal::Outdated { kept: kept.advertisement.order });
    }
    // One that does not count does not make the broker forget how far an older copy had counted.
    let kept_order = before.advertisement().and_then(|kept| kept.order);
    advertisement.order = advertisement.order.or(kept_order);
    let held = if fleet.is_recovering(&before) { held } else { Held::Unsaid };
    if matches!(held, Held::Unsaid)
        && let Some(known) = known
        && let Some(change) = refreshed(fleet, known, &advertisement, advertisement.order, now)
    {
        let subject = Subject::Cluster(id.clone());
        return Ok(Decision { subject, changes: vec![change], events: Vec::new() });
    }
    let news = News { fleet, known, before, now };
    news.decide(advertisement, held)
}

/// What an advertisement changes that says the same as before and need not survive a restart: most do.
///
/// `None` for any other, which has to be decided.
#[must_use]
pub fn refreshment(
    fleet: &Fleet,
    id: &ClusterId,
    advertisement: &Advertisement,
    holding: Option<&[Holding]>,
    now: Timestamp,
) -> Option<Change> {
    let known = fleet.cluster(id)?;
    let kept = known.record().advertised.as_ref()?;
    let counts = advertisement.may_replace(&kept.advertisement, now.since(kept.received_at));
    let reports = holding.is_some() && fleet.is_recovering(known.record());
    if !counts || reports {
        return None;
    }
    let order = advertisement.order.or(kept.advertisement.order);
    refreshed(fleet, known, advertisement, order, now).filter(|change| !change.is_durable())
}

/// The same as before: most of the time, nothing that must survive a restart.
fn refreshed(
    fleet: &Fleet,
    known: &Cluster,
    advertisement: &Advertisement,
    order: Option<Order>,
    now: Timestamp,
) -> Option<Change> {
    let record = known.record();
    let kept = record.advertisement()?;
    if record.stale || !advertisement.says_the_same_as(kept) {
        return None;
    }
    let kept_at = known.freshness_kept_at();
    let old = kept_at.is_none_or(|kept| now.since(kept) >= fleet.policy().freshness_kept_for());
    let restarted = order.map(|order| order.epoch) != kept.order.map(|order| order.epoch);
    Some(Change::Refreshed {
        cluster: record.id.clone(),
        at: now,
        timestamp: advertisement.timestamp,
        order,
        durable: old || restarted,
    })
}

/// An advertisement that says something new.
struct News<'a> {
    fleet: &'a Fleet,
    known: Option<&'a Cluster>,
    before: ClusterRecord,
    now: Timestamp,
}

impl News<'_> {
    fn decide(&self, advertisement: Advertisement, held: Held) -> Result<Decision, Refusal> {
        let id = &self.before.id;
        let recovered = matches!(held, Held::All(_));
        let more = matches!(held, Held::More { .. });
        let (holding, limit) = match held {
            Held::Unsaid => (Vec::new(), 0),
            Held::All(holding) => (holding, usize::MAX),
            Held::More { holding, limit } => (holding, limit),
        };
        let mut ledger = self.known.map(|known| known.ledger().clone()).unwrap_or_default();
        let adopted = adopt(self.fleet, id, holding, limit, &mut ledger, self.now)?;
        if more && adopted.is_empty() {
            return Ok(Decision::nothing(Subject::Cluster(id.clone())));
        }
        ledger.recount(&advertisement.consumed);
        let after = ledger.available(&advertisement);
        let record = ClusterRecord {
            id: id.clone(),
            advertised: Some(Advertised { advertisement, received_at: self.now }),
            heard_at: self.before.heard_at,
            stale: false,
            recovered_in: if recovered {
                self.fleet.incarnation()
            } else {
                self.before.recovered_in
            },
        };
        Ok(Decision {
            subject: Subject::Cluster(record.id.clone()),
            events: self.events(&adopted, recovered, after),
            changes: changes(record, adopted, &ledger),
        })
    }

    fn events(&self, adopted: &[Reservation], recovered: bool, after: Available) -> Vec<Event> {
        let was_overcommitted = self.known.is_some_and(Cluster::is_overcommitted);
        let mut happened = vec![Happening::Advertised];
        if self.before.stale {
            happened.push(Happening::BecameFresh);
        }
        match (was_overcommitted, after.is_overcommitted()) {
            (false, true) => happened.push(Happening::BecameOvercommitted),
            (true, false) => happened.push(Happening::NoLongerOvercommitted),
            (true, true) | (false, false) => {}
        }
        if recovered {
            happened.push(Happening::Recovered);
        }
        let id = &self.before.id;
        let of_cluster = happened.into_iter().map(|what| (Subject::Cluster(id.clone()), what));
        let of_adopted =
            adopted.iter().map(|held| (Subject::Reservation(held.id), Happening::Adopted));
        let by = Actor::Cluster(id.clone());
        let tell = |(subject, what)| Event { at: self.now, subject, what, by: by.clone() };
        of_cluster.chain(of_adopted).map(tell).collect()
    }
}

/// The cluster first: promises are entered into its ledger.
fn changes(record: ClusterRecord, adopted: Vec<Reservation>, ledger: &Ledger) -> Vec<Change> {
    let cluster = record.id.clone();
    let mut changes = vec![Change::Cluster(Box::new(record))];
    if !adopted.is_empty() {
        changes.extend(adopted.into_iter().map(Arc::new).map(Change::Reservation));
        changes.push(Change::Ledger { cluster, total: ledger.total() });
    }
    changes
}
