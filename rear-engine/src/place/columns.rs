//! Packed columns of approximate numbers, scanned 64 clusters at a time to see where looking is worth while.
//!
//! For each row and dimension two `f32`: what is free as a share of what is allocatable, and one over
//! what is allocatable. So the share that stays free after a request of `r` is `ratio − r × inverse`,
//! whatever the request. Nothing here decides: rows that come within [`Probe::margin`] of the best are
//! compared exactly by the caller.
// Approximate by purpose; see above. `inline(always)`: the folds are compiled as part of the two callers in
// `scan`, one of which has wider vectors.
#![allow(clippy::inline_always)]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, clippy::cast_possible_truncation)]
#![allow(clippy::cast_sign_loss)]

mod avx2;
pub(super) mod pick;
pub(super) mod probe;
mod scan;

use pick::Picked;
use probe::{Goal, Probe};

use crate::policy::Weights;
use crate::price::{Cost, Rate};
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// Rows that are scanned together.
pub(super) const LANES: usize = 32;

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

/// What one row charges for a core, a GiB and a device.
pub(super) type Rates = [f32; RATES];

/// The columns of a table; row `i` is number `i % 64` of lane `i / 64`.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    ratio: [Vec<Lane>; DIMENSIONS],
    inverse: [Vec<Lane>; DIMENSIONS],
    rate: [Vec<Lane>; RATES],
    /// By lane, a bit for each row whose rates are not held exactly.
    inexact: Vec<u64>,
}

/// The best of every 64 rows of a table: row `i` stands for lane `i`.
#[derive(Debug, Clone, Default)]
pub(super) struct Summaries {
    best: Columns,
    /// `Σ weight × ratio` over the dimensions that a request may count: CPU and memory, with or without
    /// GPU and storage. The best sum in a block is less than the sum of the best ratios, which belong to
    /// different rows.
    joint: [Vec<Lane>; JOINTS],
    /// The highest rates that anyone charges in the block; `-∞` where nobody names a price.
    highest: [Vec<Lane>; RATES],
}

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

impl Columns {
    /// How many lanes there are.
    pub(super) fn lanes(&self) -> usize {
        self.ratio[0].len()
    }

    /// Adds 64 vacant rows.
    pub(super) fn add_lane(&mut self) {
        self.each_column(Numbers::VACANT, |column, vacant| {
            column.push([vacant; LANES]);
        });
        self.inexact.push(0);
    }

    /// Writes one row.
    pub(super) fn set(&mut self, row: usize, numbers: Numbers) {
        self.each_column(numbers, |column, number| {
            column[row / LANES][row % LANES] = number;
        });
        self.mark_inexact(row, numbers.inexact);
    }

    fn mark_inexact(&mut self, row: usize, inexact: bool) {
        let bit = 1 << (row % LANES);
        let bits = &mut self.inexact[row / LANES];
        *bits = if inexact { *bits | bit } else { *bits & !bit };
    }

    /// Writes what is free in one row.
    pub(super) fn set_room(&mut self, row: usize, allocatable: Resources, available: Resources) {
        for (column, ratio) in self.ratio.iter_mut().zip(ratios(allocatable, available)) {
            column[row / LANES][row % LANES] = ratio;
        }
    }

    fn each_column(&mut self, row: Numbers, mut write: impl FnMut(&mut Vec<Lane>, f32)) {
        let numbers = row.ratio.into_iter().chain(row.inverse).chain(row.rate);
        let columns = self.ratio.iter_mut().chain(&mut self.inverse).chain(&mut self.rate);
        for (column, number) in columns.zip(numbers) {
            write(column, number);
        }
    }

    /// What one row charges, where that is held exactly.
    pub(super) fn exact_rates(&self, row: usize) -> Option<Rates> {
        let (lane, i) = (row / LANES, row % LANES);
        let exact = self.inexact[lane] & (1 << i) == 0;
        exact.then(|| self.rate.each_ref().map(|column| column[lane][i]))
    }

    /// The rows that may charge better than `best`, which is exact: some rate of theirs is better, or not exact.
    pub(super) fn may_charge_better(&self, lane: usize, probe: &Probe, best: Rates) -> Picked {
        let rates = self.rate.each_ref().map(|column| &column[lane]);
        probe.better_rates(rates, best).or(Picked(self.inexact[lane]))
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
            self.joint.iter_mut().for_each(|column| column.push([NOTHING; LANES]));
            self.highest.iter_mut().for_each(|column| column.push([f32::NEG_INFINITY; LANES]));
        }
        self.refresh_room(table, lane, weights);
        let (block, i) = (lane / LANES, lane % LANES);
        self.best.mark_inexact(lane, table.inexact[lane] != 0);
        for (column, inverse) in self.best.inverse.iter_mut().zip(&table.inverse) {
            column[block][i] = smallest(&inverse[lane]);
        }
        for (column, rate) in self.best.rate.iter_mut().zip(&table.rate) {
            column[block][i] = smallest(&rate[lane]);
        }
        for (column, rate) in self.highest.iter_mut().zip(&table.rate) {
            column[block][i] = highest(&rate[lane]);
        }
    }

    /// The same, where only what is free has changed.
    pub(super) fn refresh_room(
        &mut self,
        table: &Columns,
        lane: usize,
        weights: [f32; DIMENSIONS],
    ) {
        let (block, i) = (lane / LANES, lane % LANES);
        let (ratios, joints) = table.best_room(lane, weights);
        for (column, ratio) in self.best.ratio.iter_mut().zip(ratios) {
            column[block][i] = ratio;
        }
        for (column, joint) in self.joint.iter_mut().zip(joints) {
            column[block][i] = joint;
        }
    }

    /// The blocks with a row that may charge better than `best`, which is exact.
    pub(super) fn may_charge_better(&self, lane: usize, probe: &Probe, best: Rates) -> Picked {
        let rates = if probe.goal == Goal::Dear { &self.highest } else { &self.best.rate };
        let rates = rates.each_ref().map(|column| &column[lane]);
        probe.better_rates(rates, best).or(Picked(self.best.inexact[lane]))
    }
}

/// The largest rate that is a price.
fn highest(rates: &Lane) -> f32 {
    largest(&rates.map(|rate| if rate < f32::INFINITY { rate } else { f32::NEG_INFINITY }))
}

/// Folds 64 numbers in a way that compilers turn into vector instructions: halves against halves.
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
