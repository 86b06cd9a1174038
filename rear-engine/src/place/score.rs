//! The score of a cluster for a request, in integers: what decides, and how it is shown.

use std::fmt;

use super::index::Look;
use crate::ask::{Ask, Strategy};
use crate::fleet::Cluster;
use crate::policy::{Policy, Weights};
use crate::price::{Cost, Currency, Price};
use crate::resources::{DIMENSIONS, Dimension};

/// The whole, in billionths: shares are floored to this.
pub const WHOLE: u64 = 1_000_000_000;

const PERCENT: u64 = 100;

/// A score: `value` of at most `out_of`. Scores of one request compare by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    value: u64,
    out_of: u64,
}

impl Score {
    /// A score from a share in billionths.
    #[must_use]
    pub const fn from_share(share: u64) -> Self {
        Self { value: share, out_of: WHOLE }
    }

    /// What decides.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// The score in hundredths of a percent, floored: 0 to 10 000.
    #[must_use]
    pub fn basis_points(self) -> u64 {
        let scaled = u128::from(self.value) * 10_000 / u128::from(self.out_of.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Score {
    /// `52.16`, of 100.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.basis_points();
        write!(f, "{}.{:02}", points / 100, points % 100)
    }
}

/// The parts of a score, each of 100, in the dimensions that count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// By dimension, in the order of [`Dimension::ALL`]; `None` where it does not count.
    pub room: [Option<Score>; DIMENSIONS],
    /// From 100 for the cheapest that fits to 0 for the dearest, where cost counts.
    pub cost: Option<Score>,
}

/// The displayed score of a cluster: the share of CPU and memory that is free, with nothing requested.
#[must_use]
pub fn displayed(cluster: &Cluster, weights: Weights) -> Option<Score> {
    let advertisement = cluster.record().advertisement()?;
    let available = cluster.available()?.shown();
    let mut score = Score { value: 0, out_of: 0 };
    for dimension in [Dimension::Cpu, Dimension::Memory] {
        let weight = u64::from(weights.get(dimension));
        let free = share(available.get(dimension), advertisement.allocatable.get(dimension));
        score.value += weight * free;
        score.out_of += weight * WHOLE;
    }
    Some(score)
}

/// `part / whole` in billionths, floored; nothing of nothing is 0.
pub(crate) fn share(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    // Most amounts are small enough for the faster division.
    if let Some(scaled) = part.checked_mul(WHOLE) {
        return scaled / whole;
    }
    let share = u128::from(part) * u128::from(WHOLE) / u128::from(whole);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// How a request is placed: as it says, else the broker's way.
pub(super) fn strategy(policy: &Policy, ask: &Ask) -> Strategy {
    ask.terms().strategy.unwrap_or(policy.strategy)
}

/// The currency in which prices are compared: the request's, else the broker's.
pub(super) fn currency<'a>(policy: &'a Policy, ask: &'a Ask) -> Option<&'a Currency> {
    let ceiling = ask.terms().ceiling.as_ref();
    ceiling.map(|ceiling| &ceiling.currency).or(policy.currency.as_ref())
}

/// What the scores of one request are measured with.
pub(crate) struct Yardstick<'a> {
    ask: &'a Ask,
    /// By dimension; 0 for one that does not count.
    weights: [u64; DIMENSIONS],
    /// Their sum.
    pub(super) weight: u64,
    pub(super) strategy: Strategy,
    cost_share: u64,
    pub(super) currency: Option<&'a Currency>,
    /// The cheapest and the dearest of the clusters that fit, where cost counts and one has a price.
    pub(super) prices: Option<(Price, Price)>,
}

impl<'a> Yardstick<'a> {
    pub(crate) fn new(policy: &'a Policy, ask: &'a Ask) -> Self {
        let mut weights = [0; DIMENSIONS];
        for dimension in ask.dimensions() {
            weights[dimension.index()] = policy.weights.get(dimension).into();
        }
        Self {
            ask,
            weights,
            weight: weights.iter().sum(),
            strategy: strategy(policy, ask),
            cost_share: policy.cost_share.get().into(),
            currency: currency(policy, ask),
            prices: None,
        }
    }

    /// Whether prices must be known before anything can be scored.
    pub(super) fn counts_cost(&self) -> bool {
        self.strategy.counts_cost()
    }

    /// What the request costs on a cluster that charges in its currency.
    pub(super) fn price(&self, cost: Option<&Cost>) -> Option<Price> {
        let cost = cost.filter(|cost| Some(&cost.currency) == self.currency)?;
        Some(cost.of(self.ask.resources()))
    }

    /// The score of a cluster that fits.
    pub(super) fn score(&self, look: Look<'_>) -> Score {
        let out_of = match self.strategy {
            Strategy::Headroom | Strategy::Binpack => self.weight * WHOLE,
            Strategy::Cheapest => WHOLE,
            Strategy::Balanced => PERCENT * self.weight * WHOLE,
        };
        Score { value: self.value(look, self.cheapness(look.cost)), out_of }
    }

    /// What decides, or nothing where the request does not fit. `cheapness` is that of the look's cost.
    pub(super) fn value_where_it_fits(&self, look: Look<'_>, cheapness: u64) -> Option<u64> {
        let fits = self.ask.resources().first_beyond(look.available).is_none();
        fits.then(|| self.value(look, cheapness))
    }

    fn value(&self, look: Look<'_>, cheapness: u64) -> u64 {
        match self.strategy {
            Strategy::Headroom | Strategy::Binpack => self.weighted_room(look),
            Strategy::Cheapest => cheapness,
            Strategy::Balanced => {
                (PERCENT - self.cost_share) * self.weighted_room(look)
                    + self.cost_share * self.weight * cheapness
            }
        }
    }

    fn weighted_room(&self, look: Look<'_>) -> u64 {
        let mut sum = 0;
        for dimension in Dimension::ALL {
            let weight = self.weights[dimension.index()];
            if weight > 0 {
                sum += weight * self.room(look, dimension);
            }
        }
        sum
    }

    /// The same, part by part.
    pub(super) fn parts(&self, look: Look<'_>) -> Parts {
        let mut parts = Parts::default();
        for dimension in self.ask.dimensions() {
            parts.room[dimension.index()] = Some(Score::from_share(self.room(look, dimension)));
        }
        if self.counts_cost() {
            parts.cost = Some(Score::from_share(self.cheapness(look.cost)));
        }
        parts
    }

    /// What a dimension is worth: the share that stays free, or for bin packing the share that does not.
    fn room(&self, look: Look<'_>, dimension: Dimension) -> u64 {
        let left =
            look.available.get(dimension).saturating_sub(self.ask.resources().get(dimension));
        let free = share(left, look.allocatable.get(dimension));
        match self.strategy {
            Strategy::Binpack => WHOLE.saturating_sub(free),
            Strategy::Headroom | Strategy::Balanced | Strategy::Cheapest => free,
        }
    }

    /// From a whole for the cheapest to 0 for the dearest; no price counts as the dearest.
    pub(super) fn cheapness(&self, cost: Option<&Cost>) -> u64 {
        let (Some((cheapest, dearest)), Some(price)) = (self.prices, self.price(cost)) else {
            return 0;
        };
        let mut span = dearest.billionths().saturating_sub(cheapest.billionths());
        // Rows are scored before it is known whether they may serve: theirs may be beyond the range.
        let mut saved = dearest.billionths().saturating_sub(price.billionths()).min(span);
        if span == 0 {
            return WHOLE;
        }
        if let (Ok(saved), Ok(span)) = (u64::try_from(saved), u64::try_from(span)) {
            return share(saved, span);
        }
        // Prices of 2⁹⁸ billionths and more: the lowest bits give way to the multiplication.
        if span >> 98 > 0 {
            span >>= 32;
            saved >>= 32;
        }
        u64::try_from(saved * u128::from(WHOLE) / span).unwrap_or(WHOLE)
    }
}
