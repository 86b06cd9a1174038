//! Which clusters a request may go to, exactly; and for the others the first reason why not.

use super::score::Yardstick;
use crate::ask::Ask;
use crate::fleet::{Cluster, Fleet};
use crate::refusal::Reason;
use crate::resources::{Dimension, Resources};
use crate::time::Timestamp;

/// The first reason why a request cannot go to a cluster, in the order of [`Reason`].
pub(crate) fn reason(
    fleet: &Fleet,
    cluster: &Cluster,
    ask: &Ask,
    now: Timestamp,
) -> Option<Reason> {
    let Some(available) = cluster.available() else {
        return Some(Reason::Unknown);
    };
    standing(fleet, cluster, ask, now)
        .or_else(|| available.is_overcommitted().then_some(Reason::Overcommitted))
        .or_else(|| lack(available.shown(), ask))
        .or_else(|| unmet_constraint(fleet, cluster, ask))
}

/// Why it may get no promise at all from this requester.
fn standing(fleet: &Fleet, cluster: &Cluster, ask: &Ask, now: Timestamp) -> Option<Reason> {
    let record = cluster.record();
    if record.id == *ask.requester() {
        Some(Reason::Own)
    } else if fleet.is_recovering(record) {
        Some(Reason::Recovering)
    } else if !fleet.is_fresh(record, now) {
        Some(Reason::Stale)
    } else {
        None
    }
}

/// The first dimension that does not fit.
pub(super) fn lack(available: Resources, ask: &Ask) -> Option<Reason> {
    let requested = ask.resources();
    let dimension = requested.first_beyond(available)?;
    Some(Reason::Lacks {
        dimension,
        requested: requested.get(dimension),
        available: available.get(dimension),
    })
}

fn unmet_constraint(fleet: &Fleet, cluster: &Cluster, ask: &Ask) -> Option<Reason> {
    let advertisement = cluster.record().advertisement()?;
    let terms = ask.terms();
    if let Some((key, value)) = advertisement.labels.first_missing(&terms.required) {
        return Some(Reason::LacksLabel { key: key.to_owned(), value: value.to_owned() });
    }
    let ceiling = terms.ceiling.as_ref()?;
    match Yardstick::new(fleet.policy(), ask).price(advertisement.cost.as_ref()) {
        None => Some(Reason::Unpriced(ceiling.currency)),
        Some(price) if price > ceiling.amount => {
            Some(Reason::TooExpensive { price, ceiling: ceiling.amount })
        }
        Some(_) => None,
    }
}

/// How much of a request is there, in the dimension that lacks most, in billionths.
pub(super) fn filled(available: Resources, ask: &Ask) -> u64 {
    let part = |dimension: Dimension| {
        let requested = ask.resources().get(dimension);
        super::score::share(available.get(dimension).min(requested), requested)
    };
    ask.dimensions().map(part).min().unwrap_or_default()
}
