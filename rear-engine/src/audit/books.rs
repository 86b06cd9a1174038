//! The audit of a state: do ledgers and reservations belong together?

use std::collections::{BTreeMap, HashMap};

use super::Violation;
use crate::fleet::Fleet;
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::reservation::{Phase, Reservation};
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// A state as plain records: from a fleet in memory or from the tables of a store.
#[derive(Debug, Default)]
pub struct Books<'a> {
    /// The ledger row of each cluster.
    pub ledgers: BTreeMap<&'a ClusterId, Resources>,
    /// Every reservation.
    pub reservations: Vec<&'a Reservation>,
}

impl<'a> Books<'a> {
    /// The books of a fleet in memory.
    #[must_use]
    pub fn of(fleet: &'a Fleet) -> Self {
        let ledger =
            |cluster: &'a crate::fleet::Cluster| (&cluster.record().id, cluster.ledger().total());
        Self {
            ledgers: fleet.clusters().map(ledger).collect(),
            reservations: fleet.reservations().collect(),
        }
    }
}

/// Everything that is wrong with a state.
#[must_use]
pub fn books(books: &Books<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut sums: BTreeMap<&ClusterId, [u128; DIMENSIONS]> = BTreeMap::new();
    for reservation in &books.reservations {
        if !matches!(reservation.phase, Phase::Reserved(_) | Phase::Active(_)) {
            continue;
        }
        let sum = sums.entry(&reservation.provider).or_default();
        for (sum, amount) in sum.iter_mut().zip(reservation.ask.resources().amounts()) {
            *sum += u128::from(amount);
        }
        found.extend(check_provider(books, reservation));
    }
    for (cluster, ledger) in &books.ledgers {
        let sum = sums.get(cluster).copied().unwrap_or_default();
        found.extend(check_ledger(cluster, *ledger, sum));
    }
    found.extend(check_keys(&books.reservations));
    found
}

fn check_provider(books: &Books<'_>, reservation: &Reservation) -> Option<Violation> {
    let cluster = reservation.provider.clone();
    if !books.ledgers.contains_key(&cluster) {
        return Some(Violation::NoLedger { reservation: reservation.id, cluster });
    }
    (*reservation.ask.requester() == cluster)
        .then_some(Violation::SelfServed { reservation: reservation.id, cluster })
}

fn check_ledger(
    cluster: &ClusterId,
    ledger: Resources,
    sums: [u128; DIMENSIONS],
) -> impl Iterator<Item = Violation> {
    Dimension::ALL.into_iter().filter_map(move |dimension| {
        let (ledger, sum) = (ledger.get(dimension), sums[dimension.index()]);
        (u128::from(ledger) != sum).then(|| Violation::LedgerMismatch {
            cluster: cluster.clone(),
            dimension,
            ledger,
            sum,
        })
    })
}

fn check_keys(reservations: &[&Reservation]) -> Vec<Violation> {
    let mut seen: HashMap<(&ClusterId, &IdempotencyKey), ReservationId> = HashMap::new();
    let mut found = Vec::new();
    for reservation in reservations {
        let Some(key) = &reservation.key else {
            continue;
        };
        if let Some(first) = seen.insert((reservation.ask.requester(), key), reservation.id) {
            found.push(Violation::KeyShared { first, second: reservation.id });
        }
    }
    found
}
