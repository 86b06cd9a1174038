//! Packed columns of approximate numbers, scanned 32 clusters at a time to see where looking is worth while.
//!
//! For each row and dimension two `f32`: what is free as a share of what is allocatable, and one over
//! what is allocatable. So the share that stays free after a request of `r` is `ratio − r × inverse`,
//! whatever the request. Nothing here decides: rows that come within [`Probe::margin`] of the best are
//! compared exactly by the caller.
// Approximate by purpose; see above. `inline(always)`: the folds are compiled as part of their callers, which are
// compiled twice; see `vectors`.
#![allow(clippy::inline_always)]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, clippy::cast_possible_truncation)]
#![allow(clippy::cast_sign_loss)]

mod avx2;
pub(super) mod pick;
pub(super) mod probe;
mod scan;
pub(super) mod summary;
pub(super) mod vectors;

use pick::Picked;
use probe::Probe;
use vectors::Vectors;

use crate::policy::Weights;
use crate::price::{Cost, Rate};
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// Rows that are scanned together. Of 16, 32 and 64, this measures best: smaller blocks have tighter bounds, larger
/// ones fewer of them.
pub(super) const LANES: usize = 32;

/// The free share of a row that nothing fits into. Finite, so that no weight makes it undefined.
const NOTHING: f32 = -1e30;

/// Rates: for cores, GiB and devices.
const RATES: usize = 3;

/// More than the largest error of a share that was computed in `f32`: each is off by less than
/// four roundings of 2⁻²⁴, and shares are at most 1 where it matters.
const TOLERANCE: f32 = 1.0 / (1 << 20) as f32;

/// One number for each of 32 rows.
pub(super) type Lane = [f32; LANES];

/// What one row charges for a core, a GiB and a device.
pub(super) type Rates = [f32; RATES];

/// 32 rows, column by column, on whole cache lines.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Block {
    ratio: [Lane; DIMENSIONS],
    inverse: [Lane; DIMENSIONS],
    rate: [Lane; RATES],
    /// A bit for each row whose rates are not held exactly.
    inexact: u64,
}

/// A table in blocks; row `i` is number `i % 32` of block `i / 32`.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns(Vec<Block>);

/// One row as numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    ratio: [f32; DIMENSIONS],
    inverse: [f32; DIMENSIONS],
    rate: [f32; RATES],
    inexact: bool,
}

impl Numbers {
    /// A row that nothing fits into.
    pub(super) const VACANT: Self = Self {
        ratio: [NOTHING; DIMENSIONS],
        inverse: [f32::INFINITY; DIMENSIONS],
        rate: [f32::INFINITY; RATES],
        inexact: false,
    };

    /// A cluster with these amounts; `cost` only if it is in the currency that prices are compared in.
    pub(super) fn of(allocatable: Resources, available: Resources, cost: Option<&Cost>) -> Self {
        let mut row = Self::VACANT;
        row.ratio = ratios(allocatable, available);
        row.inverse = allocatable.amounts().map(|size| (1.0 / size as f64) as f32);
        if let Some(cost) = cost {
            row.rate = [cost.cpu, cost.memory, cost.gpu].map(|rate| rate.billionths() as f32);
            row.inexact = !holds_exactly(cost);
        }
        row
    }
}

/// Whether rates are the same numbers here as they are outside: those with few digits are.
fn holds_exactly(cost: &Cost) -> bool {
    // Rates end far below 2⁶⁴, so that nothing saturates on the way back.
    let exact = |rate: Rate| (rate.billionths() as f32) as u64 == rate.billionths();
    [cost.cpu, cost.memory, cost.gpu].into_iter().all(exact)
}

/// What is free as a share of what is allocatable. Without any, there is no share of it, and no request
/// for it fits: 0 − r × ∞.
fn ratios(allocatable: Resources, available: Resources) -> [f32; DIMENSIONS] {
    let (sizes, free) = (allocatable.amounts(), available.amounts());
    let mut ratios = [0.0; DIMENSIONS];
    for d in 0..DIMENSIONS {
        // Amounts end at `i64::MAX`, and signed numbers are converted with one instruction.
        let (size, free) = (sizes[d].cast_signed() as f64, free[d].cast_signed() as f64);
        ratios[d] = if size > 0.0 { (free / size) as f32 } else { 0.0 };
    }
    ratios
}

/// Weights as numbers.
pub(super) fn vector_weights(weights: Weights) -> [f32; DIMENSIONS] {
    Dimension::ALL.map(|dimension| weights.get(dimension) as f32)
}

impl Block {
    const VACANT: Self = Self {
        ratio: [[NOTHING; LANES]; DIMENSIONS],
        inverse: [[f32::INFINITY; LANES]; DIMENSIONS],
        rate: [[f32::INFINITY; LANES]; RATES],
        inexact: 0,
    };

    fn set_ratios(&mut self, row: usize, ratios: [f32; DIMENSIONS]) {
        for (column, ratio) in self.ratio.iter_mut().zip(ratios) {
            column[row] = ratio;
        }
    }

    fn mark_inexact(&mut self, row: usize, inexact: bool) {
        let bit = 1 << row;
        self.inexact = if inexact { self.inexact | bit } else { self.inexact & !bit };
    }
}

impl Columns {
    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.0.len()
    }

    /// Adds 32 vacant rows.
    pub(super) fn add_block(&mut self) {
        self.0.push(Block::VACANT);
    }

    /// Writes one row.
    pub(super) fn set(&mut self, row: usize, numbers: Numbers) {
        let (block, row) = (&mut self.0[row / LANES], row % LANES);
        block.set_ratios(row, numbers.ratio);
        for (column, inverse) in block.inverse.iter_mut().zip(numbers.inverse) {
            column[row] = inverse;
        }
        for (column, rate) in block.rate.iter_mut().zip(numbers.rate) {
            column[row] = rate;
        }
        block.mark_inexact(row, numbers.inexact);
    }

    /// Writes what is free in one row.
    pub(super) fn set_room(&mut self, row: usize, allocatable: Resources, available: Resources) {
        self.0[row / LANES].set_ratios(row % LANES, ratios(allocatable, available));
    }

    /// What one row charges, where that is held exactly.
    pub(super) fn exact_rates(&self, row: usize) -> Option<Rates> {
        let (block, row) = (&self.0[row / LANES], row % LANES);
        let exact = block.inexact & (1 << row) == 0;
        exact.then(|| block.rate.each_ref().map(|column| column[row]))
    }

    /// The rows that may charge better than `best`, which is exact: some rate of theirs is better, or not exact.
    #[inline(always)]
    pub(super) fn may_charge_better(
        &self,
        block: usize,
        probe: &Probe,
        best: Rates,
        vectors: impl Vectors,
    ) -> Picked {
        let block = &self.0[block];
        probe.better_rates(&block.rate, best, vectors).or(Picked(block.inexact))
    }
}

/// Folds 32 numbers in a way that compilers turn into vector instructions: halves against halves.
#[inline(always)]
fn fold(lane: &Lane, pick: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let quarter: [f32; 16] = halve(lane, pick);
    let pair: [f32; 2] = halve(&halve::<8, 4>(&halve(&quarter, pick), pick), pick);
    pick(pair[0], pair[1])
}

#[inline(always)]
fn halve<const N: usize, const HALF: usize>(
    numbers: &[f32; N],
    pick: impl Fn(f32, f32) -> f32,
) -> [f32; HALF] {
    const { assert!(N == 2 * HALF) };
    let mut half = [0.0; HALF];
    for i in 0..HALF {
        half[i] = pick(numbers[i], numbers[i + HALF]);
    }
    half
}

#[inline(always)]
fn largest(lane: &Lane) -> f32 {
    fold(lane, |a, b| if a > b { a } else { b })
}

#[inline(always)]
fn smallest(lane: &Lane) -> f32 {
    fold(lane, |a, b| if a < b { a } else { b })
}
