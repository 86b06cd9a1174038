//! The ranking of a dry run: who would get a request, and why, without locking anything.

use std::cmp::{Ordering, Reverse};

use super::explain;
use super::filter::reason;
use super::score::{Parts, Score, Yardstick};
use super::select::{choose, look_of};
use crate::ask::Ask;
use crate::fleet::Fleet;
use crate::id::ClusterId;
use crate::refusal::Obstacle;
use crate::time::Timestamp;

/// A ranking shows at most this many clusters that fit: the best.
pub const MAX_RANKED: usize = 100;

/// What a dry run tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// Who would get the request.
    pub target: Option<ClusterId>,
    /// The clusters that fit, best first, at most [`MAX_RANKED`].
    pub fitting: Vec<Ranked>,
    /// The closest of those that do not.
    pub others: Vec<Obstacle>,
}

/// A cluster that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// Which cluster.
    pub cluster: ClusterId,
    /// How many of the preferred labels it has; more of them come before a higher score.
    pub preferred_labels: usize,
    /// Its score.
    pub score: Score,
    /// The parts of its score.
    pub parts: Parts,
}

/// Explains a request without granting it.
#[must_use]
pub fn dry_run(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Ranking {
    if ask.terms().target.is_some() {
        return dry_run_of_target(fleet, ask, now);
    }
    let mut fitting = fitting(fleet, ask, now);
    fitting.sort_by(|a, b| b.cmp(a));
    fitting.truncate(MAX_RANKED);
    Ranking {
        target: fitting.first().map(|best| best.cluster.clone()),
        fitting,
        others: explain::closest(fleet, ask, now),
    }
}

fn dry_run_of_target(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Ranking {
    match choose(fleet, ask, now) {
        Ok(target) => {
            let mut fitting = fitting(fleet, ask, now);
            fitting.retain(|ranked| ranked.cluster == target);
            Ranking { target: Some(target), fitting, others: Vec::new() }
        }
        Err(refused) => Ranking { target: None, fitting: Vec::new(), others: refused.candidates },
    }
}

/// Every cluster that fits, with its exact score, in no order.
pub(super) fn fitting(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Vec<Ranked> {
    let fits = |cluster: &&_| reason(fleet, cluster, ask, now).is_none();
    let fitting: Vec<_> = fleet.clusters().filter(fits).collect();
    let mut yardstick = Yardstick::new(fleet.policy(), ask);
    if yardstick.counts_cost() {
        let advertised = fitting.iter().filter_map(|cluster| cluster.record().advertisement());
        let prices = advertised.filter_map(|told| yardstick.price(told.cost.as_ref()));
        let range = prices.fold(None, |range, price| match range {
            None => Some((price, price)),
            Some((low, high)) => Some((price.min(low), price.max(high))),
        });
        yardstick.prices = range;
    }
    let ranked = fitting.into_iter().filter_map(|cluster| {
        let look = look_of(cluster)?;
        let labels = &cluster.record().advertisement()?.labels;
        Some(Ranked {
            cluster: cluster.record().id.clone(),
            preferred_labels: labels.count_of(&ask.terms().preferred),
            score: yardstick.score(look),
            parts: yardstick.parts(look),
        })
    });
    ranked.collect()
}

impl Ord for Ranked {
    /// Of two, the greater is preferred: more preferred labels, a higher score, a smaller id.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |ranked: &Self| (ranked.preferred_labels, ranked.score.value());
        key(self)
            .cmp(&key(other))
            .then_with(|| Reverse(&self.cluster).cmp(&Reverse(&other.cluster)))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
