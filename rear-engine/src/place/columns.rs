//! Packed columns of approximate numbers, scanned 64 clusters at a time to see where looking is worth while.
//!
//! For each row and dimension two `f32`: what is free as a share of what is allocatable, and one over
//! what is allocatable. So the share that stays free after a request of `r` is `ratio − r × inverse`,
//! whatever the request. Nothing here decides: rows that come within [`Probe::margin`] of the best are
//! compared exactly by the caller.
// Approximate by purpose; see above.
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, clippy::cast_possible_truncation)]

pub(super) mod probe;
mod scan;

pub(super) use scan::Table;

use crate::policy::Weights;
use crate::price::Cost;
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// Rows that are scanned together.
pub(super) const LANES: usize = 64;

/// Rates: for cores, GiB and devices.
const RATES: usize = 3;

/// More than the largest error of a share that was computed in `f32`: each is off by less than
/// four roundings of 2⁻²⁴, and shares are at most 1 where it matters.
const TOLERANCE: f32 = 1.0 / (1 << 20) as f32;

/// One number for each of 64 rows.
pub(super) type Lane = [f32; LANES];

/// The columns of a table; row `i` is number `i % 64` of lane `i / 64`.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    ratio: [Vec<Lane>; DIMENSIONS],
    inverse: [Vec<Lane>; DIMENSIONS],
    rate: [Vec<Lane>; RATES],
    /// `Σ weight × ratio` over CPU and memory. Only summaries use it: the best sum in a block is less
    /// than the sum of the best ratios, which belong to different rows.
    joint: Vec<Lane>,
}

/// One row as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    ratio: [f32; DIMENSIONS],
    inverse: [f32; DIMENSIONS],
    rate: [f32; RATES],
    joint: f32,
}

impl Numbers {
    /// A row that nothing fits into.
    pub(super) const VACANT: Self = Self {
        ratio: [f32::NEG_INFINITY; DIMENSIONS],
        inverse: [f32::INFINITY; DIMENSIONS],
        rate: [f32::INFINITY; RATES],
        joint: f32::NEG_INFINITY,
    };

    /// A cluster with these amounts; `cost` only if it is in the currency that prices are compared in.
    pub(super) fn of(
        allocatable: Resources,
        available: Resources,
        cost: Option<&Cost>,
        weights: [f32; DIMENSIONS],
    ) -> Self {
        let mut row = Self::VACANT;
        for dimension in Dimension::ALL {
            let d = dimension.index();
            let size = allocatable.get(dimension) as f64;
            // Without any, there is no share of it, and no request for it fits: 0 − r × ∞.
            row.ratio[d] =
                if size > 0.0 { (available.get(dimension) as f64 / size) as f32 } else { 0.0 };
            row.inverse[d] = (1.0 / size) as f32;
        }
        if let Some(cost) = cost {
            row.rate = [cost.cpu, cost.memory, cost.gpu].map(|rate| rate.billionths() as f32);
        }
        row.joint = weights[0] * row.ratio[0] + weights[1] * row.ratio[1];
        row
    }
}

/// Weights as numbers.
pub(super) fn vector_weights(weights: Weights) -> [f32; DIMENSIONS] {
    Dimension::ALL.map(|dimension| weights.get(dimension) as f32)
}

impl Columns {
    /// How many lanes there are.
    pub(super) fn lanes(&self) -> usize {
        self.joint.len()
    }

    /// Adds 64 vacant rows.
    pub(super) fn add_lane(&mut self) {
        self.each_column(Numbers::VACANT, |column, vacant| column.push([vacant; LANES]));
    }

    /// Writes one row.
    pub(super) fn set(&mut self, row: usize, numbers: Numbers) {
        self.each_column(numbers, |column, number| column[row / LANES][row % LANES] = number);
    }

    fn each_column(&mut self, row: Numbers, mut write: impl FnMut(&mut Vec<Lane>, f32)) {
        let numbers = row.ratio.into_iter().chain(row.inverse).chain(row.rate).chain([row.joint]);
        let columns = self.ratio.iter_mut().chain(&mut self.inverse).chain(&mut self.rate);
        for (column, number) in columns.chain([&mut self.joint]).zip(numbers) {
            write(column, number);
        }
    }

    /// The best of each column in 64 rows: a row that is at least as good as each of them.
    pub(super) fn best_of(&self, lane: usize) -> Numbers {
        Numbers {
            ratio: self.ratio.each_ref().map(|column| largest(&column[lane])),
            inverse: self.inverse.each_ref().map(|column| smallest(&column[lane])),
            rate: self.rate.each_ref().map(|column| smallest(&column[lane])),
            joint: largest(&self.joint[lane]),
        }
    }
}

/// Folds 64 numbers in a way that compilers turn into vector instructions.
#[inline(always)]
fn fold(lane: &Lane, pick: impl Fn(f32, f32) -> f32) -> f32 {
    const WIDTH: usize = 16;
    let mut best: [f32; WIDTH] = std::array::from_fn(|i| lane[i]);
    for chunk in lane.chunks_exact(WIDTH).skip(1) {
        for i in 0..WIDTH {
            best[i] = pick(best[i], chunk[i]);
        }
    }
    best.into_iter().reduce(pick).unwrap_or(f32::NEG_INFINITY)
}

#[inline(always)]
fn largest(lane: &Lane) -> f32 {
    fold(lane, |a, b| if a > b { a } else { b })
}

#[inline(always)]
fn smallest(lane: &Lane) -> f32 {
    fold(lane, |a, b| if a < b { a } else { b })
}
