//! Many reservations at once, without deciding each: what large ledgers are made of.

use std::sync::Arc;

use rear_engine::fleet::{Advertised, ClusterRecord};
use rear_engine::reservation::Pending;
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Change, Resources, Timestamp};
use rear_store::{Batch, Journal, Position};

/// A provider `p` with so many promises of a millicore and a mebibyte to `r`, in commits of a thousand.
pub(crate) fn fill(journal: &mut impl Journal, promises: u128, now: Timestamp) {
    let provider = ClusterRecord {
        advertised: Some(Advertised {
            advertisement: advertisement("1000000", "1000Ti", now),
            received_at: now,
        }),
        ..ClusterRecord::new(cluster("p"))
    };
    let mut batch = next(journal.load().unwrap().meta.position, now);
    batch.changes.push(Change::Cluster(Box::new(provider)));
    let each = resources("1m", "1Mi");
    let mut total = Resources::NONE;
    for number in 1..=promises {
        let pending = Pending { id: id(number), ask: ask("r", each), key: None };
        batch.changes.push(Change::Reservation(Arc::new(pending.grant(cluster("p"), now, None))));
        total = total.checked_add(each).unwrap();
        if number % 1000 == 0 || number == promises {
            batch.changes.push(Change::Ledger { cluster: cluster("p"), total });
            journal.commit(&batch).unwrap();
            batch = next(batch.position, now);
        }
    }
}

fn next(position: Position, now: Timestamp) -> Batch {
    Batch::empty(position.next().unwrap(), now)
}
