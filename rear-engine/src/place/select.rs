//! Choosing the provider: the highest score, ties to the smaller id.

use std::cmp::Reverse;

use super::columns::probe::{Goal, Probe};
use super::filter::{lack, reason};
use super::index::{Look, Row};
use super::score::{Yardstick, currency, strategy};
use super::{explain, rank};
use crate::ask::{Ask, Strategy};
use crate::fleet::{Cluster, Fleet};
use crate::id::ClusterId;
use crate::price::{Cost, Price};
use crate::refusal::{NoRoom, Obstacle, Reason};
use crate::time::Timestamp;

/// Chooses a provider, or says for each cluster why not.
pub(crate) fn choose(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Result<ClusterId, NoRoom> {
    if let Some(target) = &ask.terms().target {
        return only(fleet, target, ask, now);
    }
    let chosen = if index_can_answer(fleet, ask) {
        by_index(fleet, ask, now)
    } else {
        by_plain_scan(fleet, ask, now)
    };
    chosen.ok_or_else(|| explain::no_room(fleet, ask, now))
}

fn only(fleet: &Fleet, target: &ClusterId, ask: &Ask, now: Timestamp) -> Result<ClusterId, NoRoom> {
    let obstacle = match fleet.cluster(target) {
        None => Some(Reason::Unknown),
        Some(cluster) => reason(fleet, cluster, ask, now),
    };
    match obstacle {
        None => Ok(target.clone()),
        Some(reason) => Err(NoRoom {
            candidates: vec![Obstacle { cluster: target.clone(), reason }],
            considered: 1,
        }),
    }
}

/// The columns hold prices in the broker's currency, and no labels.
pub(crate) fn index_can_answer(fleet: &Fleet, ask: &Ask) -> bool {
    let policy = fleet.policy();
    let counts_cost = strategy(policy, ask).counts_cost();
    let comparable = !counts_cost || currency(policy, ask) == policy.currency.as_ref();
    ask.terms().preferred.is_empty() && comparable
}

/// The plain way, which says what is right: every cluster, exactly.
pub(crate) fn by_plain_scan(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Option<ClusterId> {
    rank::fitting(fleet, ask, now).into_iter().max().map(|best| best.cluster.clone())
}

/// The fast way to the same answer.
pub(crate) fn by_index(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Option<ClusterId> {
    let contest = Contest::new(fleet, ask, now);
    let mut yardstick = Yardstick::new(fleet.policy(), ask);
    let probe = Probe::new(ask);
    if yardstick.counts_cost() {
        yardstick.prices = contest.prices(&probe, &yardstick);
    }
    let probe = aim(probe, fleet, &yardstick);
    let mut cheapness = PerCost::default();
    let best = fleet.index().best(&probe, |row, best: Option<&(u64, Reverse<&ClusterId>)>| {
        let cheapness = match yardstick.prices {
            Some(_) => cheapness.of(row, |cost| yardstick.cheapness(cost)),
            None => 0,
        };
        let score = yardstick.value_where_it_fits(row.look(), cheapness)?;
        if best.is_some_and(|(best, _)| score < *best) {
            return None;
        }
        contest.first_eligible(row).map(|winner| (score, Reverse(winner)))
    });
    best.map(|(_, Reverse(winner))| winner.clone())
}

// Approximate by purpose: these numbers only prune.
#[allow(clippy::float_arithmetic, clippy::cast_precision_loss)]
fn aim(probe: Probe, fleet: &Fleet, yardstick: &Yardstick<'_>) -> Probe {
    let policy = fleet.policy();
    let probe = probe.towards(Goal::Score);
    let cost_share = f32::from(policy.cost_share.get()) / 100.0;
    let (room, worth) = match yardstick.strategy {
        Strategy::Headroom => (1.0, 0.0),
        Strategy::Binpack => (-1.0, 0.0),
        Strategy::Cheapest => (0.0, 1.0),
        Strategy::Balanced => (1.0 - cost_share, cost_share * yardstick.weight as f32),
    };
    let probe = probe.weigh_room(policy.weights, room);
    match yardstick.prices {
        Some((cheapest, dearest)) => probe.weigh_cost(worth, cheapest, dearest),
        None => probe,
    }
}

/// Something that depends on what a row charges, worked out once for neighbours that charge the same.
struct PerCost<'a, T> {
    last: Option<(Option<&'a Cost>, T)>,
}

impl<T> Default for PerCost<'_, T> {
    fn default() -> Self {
        Self { last: None }
    }
}

impl<'a, T: Copy> PerCost<'a, T> {
    fn of(&mut self, row: &'a Row, work_out: impl FnOnce(Option<&'a Cost>) -> T) -> T {
        let cost = row.look().cost;
        match self.last {
            Some((last, known)) if last == cost => known,
            Some(_) | None => {
                let new = work_out(cost);
                self.last = Some((cost, new));
                new
            }
        }
    }
}

/// One request and those who may serve it.
struct Contest<'a> {
    fleet: &'a Fleet,
    ask: &'a Ask,
    now: Timestamp,
    /// Whether every cluster of the index may serve where it has room, but for the requester itself.
    open: bool,
}

impl<'a> Contest<'a> {
    fn new(fleet: &'a Fleet, ask: &'a Ask, now: Timestamp) -> Self {
        let terms = ask.terms();
        let unconstrained = terms.required.is_empty() && terms.ceiling.is_none();
        Self { fleet, ask, now, open: unconstrained && fleet.index_is_fresh(now) }
    }

    /// The first cluster of a row, by id, that the request may go to.
    fn first_eligible<'r>(&self, row: &'r Row) -> Option<&'r ClusterId> {
        row.members().find(|id| self.may_serve(id))
    }

    /// Whether a cluster may serve that was found in the index, with room for the request.
    fn may_serve(&self, id: &ClusterId) -> bool {
        if self.open {
            return id != self.ask.requester();
        }
        let obstacle = |cluster: &Cluster| reason(self.fleet, cluster, self.ask, self.now);
        self.fleet.cluster(id).is_some_and(|cluster| obstacle(cluster).is_none())
    }

    /// The cheapest and the dearest price among the clusters that fit.
    fn prices(&self, probe: &Probe, yardstick: &Yardstick<'_>) -> Option<(Price, Price)> {
        let probe = |goal| probe.clone().towards(goal);
        let Reverse(cheapest) = self.extreme(&probe(Goal::Cheap), yardstick, Reverse)?;
        let dearest = self.extreme(&probe(Goal::Dear), yardstick, |price| price)?;
        Some((cheapest, dearest))
    }

    fn extreme<K: Ord>(
        &self,
        probe: &Probe,
        yardstick: &Yardstick<'_>,
        key: impl Fn(Price) -> K,
    ) -> Option<K> {
        let mut prices = PerCost::default();
        self.fleet.index().best(probe, |row, best| {
            let price = key(prices.of(row, |cost| yardstick.price(cost))?);
            let better = best.is_none_or(|best| *best < price);
            if !better || lack(row.look().available, self.ask).is_some() {
                return None;
            }
            self.first_eligible(row).map(|_| price)
        })
    }
}

/// What a request sees of one cluster.
pub(super) fn look_of(cluster: &Cluster) -> Option<Look<'_>> {
    let advertisement = cluster.record().advertisement()?;
    Some(Look {
        allocatable: advertisement.allocatable,
        available: cluster.available()?.shown(),
        cost: advertisement.cost.as_ref(),
    })
}
