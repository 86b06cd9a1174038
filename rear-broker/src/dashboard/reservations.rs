//! Reservations as a list: the newest first, searched, and cut where nobody reads on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rear_api::moment;
use rear_api::reservation::Reservation as Shown;
use rear_engine::{Phase, Reservation, ReservationId, Timestamp};
use rear_store::View;
use serde::{Deserialize, Serialize};

use super::MAX_ROWS;

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// A part of the id of one of its sides, or the beginning of its own.
    #[serde(default)]
    search: String,
    phase: Option<String>,
    /// Exactly these sides.
    provider: Option<String>,
    requester: Option<String>,
    /// Whether those that have ended are left out.
    #[serde(default)]
    live: bool,
}

impl Wanted {
    fn means(&self, kept: &Reservation, search: &str) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        is(&self.phase, kept.phase.name())
            && is(&self.provider, kept.provider.as_str())
            && is(&self.requester, kept.requester().as_str())
            && (!self.live || kept.phase.is_live())
            && mentions(kept, search)
    }
}

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// How many are meant.
    matching: usize,
    /// The newest of these.
    rows: Vec<Shown>,
}

pub(super) fn find(view: &View, wanted: &Wanted) -> Found {
    let search = wanted.search.trim().to_lowercase();
    let mut matching = 0;
    // By time: of those that were made as custom resources the id does not tell it.
    let mut newest: BinaryHeap<Reverse<(Timestamp, ReservationId)>> = BinaryHeap::new();
    for kept in view.fleet().reservations().filter(|kept| wanted.means(kept, &search)) {
        matching += 1;
        newest.push(Reverse((kept.reserved_at, kept.id)));
        if newest.len() > MAX_ROWS {
            newest.pop();
        }
    }
    let ids = newest.into_sorted_vec().into_iter();
    let rows = ids.filter_map(|Reverse((_, id))| view.fleet().reservation(id)).map(Shown::from);
    Found { matching, rows: rows.collect() }
}

fn mentions(kept: &Reservation, search: &str) -> bool {
    if search.starts_with("rsv-") {
        return kept.id.to_string().starts_with(search);
    }
    [kept.requester(), &kept.provider].iter().any(|side| side.as_str().contains(search))
}

/// Which reservation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    id: String,
}

/// A step in the life of a reservation.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    what: String,
    at: String,
    /// Whether it has been taken.
    done: bool,
}

/// What is known of a reservation's life, in the order in which it happens; nothing for one that is not known.
pub(super) fn life(view: &View, named: &Named) -> Vec<Step> {
    let id = named.id.parse::<ReservationId>().ok();
    let Some(kept) = id.and_then(|id| view.fleet().reservation(id)) else { return Vec::new() };
    let step = |what: &str, at, done| Step { what: what.to_owned(), at: moment::text(at), done };
    let mut steps = vec![step("Locked", kept.reserved_at, true)];
    if let Phase::Active(active) = kept.phase {
        steps.push(step("In use", active.since, true));
    }
    match kept.phase.ended_at() {
        Some(at) => steps.push(step(kept.phase.name(), at, true)),
        None => steps.extend(kept.expires_at.map(|end| step("Ends", end, false))),
    }
    steps
}
