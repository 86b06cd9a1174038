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

use crate::policy::Weights;
use crate::price::Cost;
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// Rows that are scanned together.
pub(super) const LANES: usize = 64;

/// Which sums summaries hold: bit 0 for GPU, bit 1 for storage.
const JOINTS: usize = 4;

/// The free share of a row that nothing fits into. Finite, so that no weight makes it undefined.
const NOTHING: f32 = -1e30;

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
}

/// The best of every 64 rows of a table: row `i` stands for lane `i`.
#[derive(Debug, Clone, Default)]
pub(super) struct Summaries {
    best: Columns,
    /// `Σ weight × ratio` over the dimensions that a request may count: CPU and memory, with or without
    /// GPU and storage. The best sum in a block is less than the sum of the best ratios, which belong to
    /// different rows.
    joint: [Vec<Lane>; JOINTS],
}

/// One row as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    ratio: [f32; DIMENSIONS],
    inverse: [f32; DIMENSIONS],
    rate: [f32; RATES],
}

impl Numbers {
    /// A row that nothing fits into.
    pub(super) const VACANT: Self = Self {
        ratio: [NOTHING; DIMENSIONS],
        inverse: [f32::INFINITY; DIMENSIONS],
        rate: [f32::INFINITY; RATES],
    };

    /// A cluster with these amounts; `cost` only if it is in the currency that prices are compared in.
    pub(super) fn of(allocatable: Resources, available: Resources, cost: Option<&Cost>) -> Self {
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
        self.ratio[0].len()
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
        let numbers = row.ratio.into_iter().chain(row.inverse).chain(row.rate);
        let columns = self.ratio.iter_mut().chain(&mut self.inverse).chain(&mut self.rate);
        for (column, number) in columns.zip(numbers) {
            write(column, number);
        }
    }

    /// The best of each column in 64 rows: a row that is at least as good as each of them.
    fn best_of(&self, lane: usize) -> Numbers {
        Numbers {
            ratio: self.ratio.each_ref().map(|column| largest(&column[lane])),
            inverse: self.inverse.each_ref().map(|column| smallest(&column[lane])),
            rate: self.rate.each_ref().map(|column| smallest(&column[lane])),
        }
    }

    /// The best sums in 64 rows.
    fn joints_of(&self, lane: usize, weights: [f32; DIMENSIONS]) -> [f32; JOINTS] {
        let [cpu, memory, gpu, storage] = self.ratio.each_ref().map(|column| &column[lane]);
        std::array::from_fn(|joint| {
            let with_gpu = if joint & 1 > 0 { weights[2] } else { 0.0 };
            let with_storage = if joint & 2 > 0 { weights[3] } else { 0.0 };
            let sums: Lane = std::array::from_fn(|i| {
                let base = weights[0] * cpu[i] + weights[1] * memory[i];
                base + with_gpu * gpu[i] + with_storage * storage[i]
            });
            largest(&sums)
        })
    }
}

impl Summaries {
    /// How many lanes of summaries there are.
    pub(super) fn lanes(&self) -> usize {
        self.best.lanes()
    }

    /// Sums up one lane of a table again.
    pub(super) fn refresh(&mut self, table: &Columns, lane: usize, weights: [f32; DIMENSIONS]) {
        if self.lanes() * LANES <= lane {
            self.best.add_lane();
            for joint in &mut self.joint {
                joint.push([NOTHING; LANES]);
            }
        }
        self.best.set(lane, table.best_of(lane));
        for (column, joint) in self.joint.iter_mut().zip(table.joints_of(lane, weights)) {
            column[lane / LANES][lane % LANES] = joint;
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
