//! The best of every 32 rows: whether a block is worth a visit is seen without reading it.
#![allow(clippy::float_arithmetic)] // approximate by purpose, as the columns are
#![allow(clippy::inline_always)] // part of a search, which is compiled twice

use super::pick::Picked;
use super::probe::{Goal, Probe};
use super::vectors::Vectors;
use super::{Block, Columns, DIMENSIONS, LANES, Lane, NOTHING, RATES, Rates, largest, smallest};

/// Which sums summaries hold: bit 0 for GPU, bit 1 for storage.
pub(super) const JOINTS: usize = 4;

/// The bests of 32 blocks; row `i` of it stands for block `i` of those.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    pub(super) best: Block,
    /// `Σ weight × ratio` over the dimensions that a request may count: CPU and memory, with or without
    /// GPU and storage. The best sum in a block is less than the sum of the best ratios, which belong to
    /// different rows.
    pub(super) joint: [Lane; JOINTS],
    /// The highest rates that anyone charges in the block; `-∞` where nobody names a price.
    pub(super) highest: [Lane; RATES],
}

/// The bests of all blocks of a table: block `i` is number `i % 32` of summary `i / 32`.
#[derive(Debug, Clone, Default)]
pub(in crate::place) struct Summaries(pub(super) Vec<Summary>);

impl Summary {
    const VACANT: Self = Self {
        best: Block::VACANT,
        joint: [[NOTHING; LANES]; JOINTS],
        highest: [[f32::NEG_INFINITY; LANES]; RATES],
    };

    /// The rates that make a block promising.
    pub(super) fn rates(&self, goal: Goal) -> &[Lane; RATES] {
        if goal == Goal::Dear { &self.highest } else { &self.best.rate }
    }
}

impl Summaries {
    /// How many summaries there are.
    pub(in crate::place) fn len(&self) -> usize {
        self.0.len()
    }

    /// Sums up one block of a table again.
    pub(in crate::place) fn refresh(
        &mut self,
        table: &Columns,
        block: usize,
        weights: [f32; DIMENSIONS],
    ) {
        if self.len() * LANES <= block {
            self.0.push(Summary::VACANT);
        }
        self.refresh_room(table, block, weights);
        let (rows, summary, i) = (&table.0[block], &mut self.0[block / LANES], block % LANES);
        summary.best.mark_inexact(i, rows.inexact != 0);
        for d in 0..DIMENSIONS {
            summary.best.inverse[d][i] = smallest(&rows.inverse[d]);
        }
        for rate in 0..RATES {
            summary.best.rate[rate][i] = smallest(&rows.rate[rate]);
            summary.highest[rate][i] = highest(&rows.rate[rate]);
        }
    }

    /// The same, where only what is free has changed.
    pub(in crate::place) fn refresh_room(
        &mut self,
        table: &Columns,
        block: usize,
        weights: [f32; DIMENSIONS],
    ) {
        let (ratios, joints) = table.best_room(block, weights);
        let (summary, i) = (&mut self.0[block / LANES], block % LANES);
        summary.best.set_ratios(i, ratios);
        for (column, joint) in summary.joint.iter_mut().zip(joints) {
            column[i] = joint;
        }
    }

    /// The blocks with a row that may charge better than `best`, which is exact.
    #[inline(always)]
    pub(in crate::place) fn may_charge_better(
        &self,
        number: usize,
        probe: &Probe,
        best: Rates,
        vectors: impl Vectors,
    ) -> Picked {
        let summary = &self.0[number];
        let better = probe.better_rates(summary.rates(probe.goal), best, vectors);
        better.or(Picked(summary.best.inexact))
    }
}

/// The largest rate that is a price.
fn highest(rates: &Lane) -> f32 {
    largest(&rates.map(|rate| if rate < f32::INFINITY { rate } else { f32::NEG_INFINITY }))
}
