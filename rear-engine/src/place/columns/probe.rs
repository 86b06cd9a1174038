//! A question to the columns: which rows come first for a request.
#![allow(clippy::inline_always)] // part of a search, which is compiled twice

use super::pick::Picked;
use super::vectors::Vectors;
use super::{DIMENSIONS, Lane, RATES, Rates, TOLERANCE};
use crate::ask::Ask;
use crate::policy::Weights;
use crate::price::Price;
use crate::resources::{Dimension, Resources};

/// An exact price rounds each of three terms up to a billionth, a key does not.
const ROUNDED_UP: f32 = 3.0;

/// What makes a row come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::place) enum Goal {
    /// Fits, and a weighted sum of what stays free and of cost is high.
    Score,
    /// Fits, and costs little.
    Cheap,
    /// Fits, has a price, and costs much.
    Dear,
    /// Nearly fits.
    NearlyFits,
}

/// A request as numbers.
#[derive(Debug, Clone)]
pub(in crate::place) struct Probe {
    pub(super) goal: Goal,
    /// The dimensions that count; `count` of them.
    pub(super) dimensions: [usize; DIMENSIONS],
    pub(super) count: usize,
    /// By position in `dimensions`: how much is requested, and what a free share is worth.
    pub(super) requested: [f32; DIMENSIONS],
    pub(super) weight: [f32; DIMENSIONS],
    /// What the joint ratio of a block is worth.
    pub(super) joint: f32,
    /// Cores, GiB and devices, and how many of the three count.
    pub(super) amounts: [f32; RATES],
    pub(super) rates: usize,
    /// What a price below `dearest` is worth; 0 when cost does not count.
    pub(super) saving: f32,
    pub(super) dearest: f32,
    /// What the cheapest price is worth.
    pub(super) worth: f32,
}

impl Probe {
    /// A probe for what an ask requests, as yet without weights.
    pub(in crate::place) fn new(ask: &Ask) -> Self {
        let resources = ask.resources();
        let mut probe = Self {
            goal: Goal::Score,
            dimensions: [0; DIMENSIONS],
            count: 0,
            requested: [0.0; DIMENSIONS],
            weight: [0.0; DIMENSIONS],
            joint: 0.0,
            amounts: amounts(resources),
            rates: if resources.get(Dimension::Gpu) > 0 { RATES } else { RATES - 1 },
            saving: 0.0,
            dearest: 0.0,
            worth: 0.0,
        };
        for dimension in ask.dimensions() {
            probe.dimensions[probe.count] = dimension.index();
            probe.requested[probe.count] = resources.get(dimension) as f32;
            probe.count += 1;
        }
        probe
    }

    /// Another goal.
    pub(in crate::place) fn towards(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// Free shares count by these weights, times `factor`; a negative one prefers full clusters.
    pub(in crate::place) fn weigh_room(mut self, weights: Weights, factor: f32) -> Self {
        self.joint = factor;
        for position in 0..self.count {
            let dimension = Dimension::ALL[self.dimensions[position]];
            self.weight[position] = factor * weights.get(dimension) as f32;
        }
        self
    }

    /// Cost counts linearly, from `worth` at the cheapest to 0 at the dearest.
    pub(in crate::place) fn weigh_cost(
        mut self,
        worth: f32,
        cheapest: Price,
        dearest: Price,
    ) -> Self {
        let span = dearest.billionths().saturating_sub(cheapest.billionths()) as f32;
        let low = cheapest.billionths() as f32;
        self.worth = worth;
        (self.dearest, self.saving) = if dearest > cheapest {
            (dearest.billionths() as f32, worth / span)
        } else {
            // With one price, who charges it is the cheapest, and who names none the dearest.
            (2.0 * low + 1.0, worth / (low + 1.0))
        };
        self
    }

    /// Rows whose key is further than this below the best one cannot be better.
    pub(in crate::place) fn margin(&self, best: f32) -> f32 {
        match self.goal {
            Goal::Score => {
                let room: f32 = self.weight.iter().map(|weight| weight.abs()).sum();
                let price = 2.0 * TOLERANCE * self.dearest + ROUNDED_UP;
                // However uncertain a price is, it is worth no more than the cheapest.
                2.0 * TOLERANCE * (room + self.worth) + (self.saving * price).min(self.worth)
            }
            Goal::Cheap | Goal::Dear => 2.0 * TOLERANCE * best.abs() + ROUNDED_UP,
            Goal::NearlyFits => 2.0 * TOLERANCE,
        }
    }

    /// Which of the sums of a summary counts.
    pub(super) fn joint_number(&self) -> usize {
        let counts = |dimension: Dimension| {
            usize::from(self.dimensions[..self.count].contains(&dimension.index()))
        };
        counts(Dimension::Gpu) + 2 * counts(Dimension::Storage)
    }

    /// The rows with a rate that is better than `best`, of those rates that count.
    #[inline(always)]
    pub(super) fn better_rates(
        &self,
        rates: &[Lane; RATES],
        best: Rates,
        vectors: impl Vectors,
    ) -> Picked {
        let mut better = Picked::NONE;
        for (rates, best) in rates.iter().zip(best).take(self.rates) {
            let not_better = match self.goal {
                Goal::Cheap => vectors.at_least(rates, best),
                Goal::Dear | Goal::Score | Goal::NearlyFits => vectors.at_most(rates, best),
            };
            better = better.or(not_better.others());
        }
        better
    }

    /// Whether what is cheap comes first.
    pub(in crate::place) fn prefers_cheap(&self) -> bool {
        self.goal == Goal::Cheap
    }

    /// Whether only what a row charges makes it come first.
    pub(in crate::place) fn compares_rates(&self) -> bool {
        match self.goal {
            Goal::Cheap | Goal::Dear => true,
            Goal::Score | Goal::NearlyFits => false,
        }
    }

    /// Whether the best of each column is a bound: it is unless full clusters come first.
    pub(in crate::place) fn is_bounded_by_summaries(&self) -> bool {
        match self.goal {
            Goal::Score => self.joint >= 0.0,
            Goal::Cheap | Goal::Dear => true,
            Goal::NearlyFits => false,
        }
    }
}

fn amounts(resources: Resources) -> [f32; RATES] {
    let cores = resources.get(Dimension::Cpu) as f32 / 1000.0;
    let gib = resources.get(Dimension::Memory) as f32 / (1_u32 << 30) as f32;
    [cores, gib, resources.get(Dimension::Gpu) as f32]
}
