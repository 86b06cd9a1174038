//! Computing the keys of 32 rows: plain loops over fixed arrays that compilers turn into vector instructions.
// `always`: the loops must be compiled as part of each of their callers, one of which has wider vectors.
#![allow(clippy::inline_always)]
// Several arrays are read at the same position.
#![allow(clippy::needless_range_loop)]

use super::probe::{Goal, Probe};
use super::summary::{JOINTS, Summaries};
use super::vectors::{Vectorised, Vectors, vectorised};
use super::{Block, Columns, DIMENSIONS, LANES, Lane, RATES, TOLERANCE};

impl Columns {
    /// Writes the key of each of 32 rows, `-∞` for those that are out of the question, and returns the
    /// largest.
    #[inline(always)]
    pub(in crate::place) fn keys(
        &self,
        block: usize,
        probe: &Probe,
        vectors: impl Vectors,
        keys: &mut Lane,
    ) -> f32 {
        let block = &self.0[block];
        vectors.keys(&Table { block, joint: None, rate: &block.rate }, probe, keys)
    }

    /// The best free shares of 32 rows, and the best of their weighted sums.
    pub(super) fn best_room(&self, block: usize, weights: [f32; DIMENSIONS]) -> BestRoom {
        vectorised(SumUp { ratio: &self.0[block].ratio, weights })
    }
}

impl Summaries {
    /// Writes what the best of each of 32 blocks could be, and returns the largest.
    #[inline(always)]
    pub(in crate::place) fn bounds(
        &self,
        number: usize,
        probe: &Probe,
        vectors: impl Vectors,
        keys: &mut Lane,
    ) -> f32 {
        let summary = &self.0[number];
        let joint = Some(&summary.joint[probe.joint_number()]);
        let table = Table { block: &summary.best, joint, rate: summary.rates(probe.goal) };
        vectors.keys(&table, probe, keys)
    }
}

/// The best free shares of 32 rows, and the best of their weighted sums.
type BestRoom = ([f32; DIMENSIONS], [f32; JOINTS]);

/// Sums up 32 rows.
struct SumUp<'a> {
    ratio: &'a [Lane; DIMENSIONS],
    weights: [f32; DIMENSIONS],
}

impl Vectorised for SumUp<'_> {
    type Output = BestRoom;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> BestRoom {
        let Self { ratio: [cpu, memory, gpu, storage], weights } = self;
        let mut base = [0.0; LANES];
        let (mut with_gpu, mut with_storage, mut with_both) = (base, base, base);
        for i in 0..LANES {
            base[i] = weights[0] * cpu[i] + weights[1] * memory[i];
            with_gpu[i] = base[i] + weights[2] * gpu[i];
            with_storage[i] = base[i] + weights[3] * storage[i];
            with_both[i] = with_gpu[i] + weights[3] * storage[i];
        }
        // One by one: `map` would call a function that is not compiled for the same processor.
        let ratios = [
            vectors.largest(cpu),
            vectors.largest(memory),
            vectors.largest(gpu),
            vectors.largest(storage),
        ];
        let joints = [
            vectors.largest(&base),
            vectors.largest(&with_gpu),
            vectors.largest(&with_storage),
            vectors.largest(&with_both),
        ];
        (ratios, joints)
    }
}

/// 32 rows of a table, or the bests of 32 blocks.
pub(in crate::place) struct Table<'a> {
    block: &'a Block,
    joint: Option<&'a Lane>,
    rate: &'a [Lane; RATES],
}

/// Writes the key of each of 32 rows.
#[inline(always)]
pub(super) fn write_keys(table: &Table<'_>, probe: &Probe, keys: &mut Lane) {
    match probe.count {
        2 => keys_of::<2>(table, probe, keys),
        3 => keys_of::<3>(table, probe, keys),
        _ => keys_of::<4>(table, probe, keys),
    }
}

#[inline(always)]
fn keys_of<const D: usize>(table: &Table<'_>, probe: &Probe, keys: &mut Lane) {
    let rows = Rows::<D>::new(table.block, probe);
    match (probe.goal, table.joint) {
        (Goal::Score, None) => rows.room(probe, keys),
        (Goal::Score, Some(joint)) => rows.room_of_block(probe, joint, keys),
        (Goal::Cheap, _) => {
            let price = prices(table, probe);
            rows.where_it_fits(probe, keys, |i| -price[i]);
        }
        (Goal::Dear, _) => {
            let price = prices(table, probe);
            rows.where_it_fits(probe, keys, |i| {
                if price[i] < f32::INFINITY { price[i] } else { f32::NEG_INFINITY }
            });
        }
        (Goal::NearlyFits, _) => rows.filled(probe, keys),
    }
    if probe.saving > 0.0 {
        let price = prices(table, probe);
        for i in 0..LANES {
            let price = if price[i] < probe.dearest { price[i] } else { probe.dearest };
            let saved = probe.saving * (probe.dearest - price);
            // Also keeps an overflow of the product out of the sum.
            keys[i] += if saved < probe.worth { saved } else { probe.worth };
        }
    }
}

/// The columns that a request looks at.
struct Rows<'a, const D: usize> {
    ratio: [&'a Lane; D],
    inverse: [&'a Lane; D],
}

impl<'a, const D: usize> Rows<'a, D> {
    #[inline(always)]
    fn new(block: &'a Block, probe: &Probe) -> Self {
        Self {
            ratio: std::array::from_fn(|d| &block.ratio[probe.dimensions[d]]),
            inverse: std::array::from_fn(|d| &block.inverse[probe.dimensions[d]]),
        }
    }

    /// The share that stays free in one dimension.
    #[inline(always)]
    fn left(&self, probe: &Probe, d: usize, i: usize) -> f32 {
        self.ratio[d][i] - probe.requested[d] * self.inverse[d][i]
    }

    #[inline(always)]
    fn where_it_fits(&self, probe: &Probe, keys: &mut Lane, key: impl Fn(usize) -> f32) {
        for i in 0..LANES {
            let mut worst = f32::INFINITY;
            for d in 0..D {
                let left = self.left(probe, d, i);
                worst = if left < worst { left } else { worst };
            }
            keys[i] = if worst >= -TOLERANCE { key(i) } else { f32::NEG_INFINITY };
        }
    }

    #[inline(always)]
    fn room(&self, probe: &Probe, keys: &mut Lane) {
        self.where_it_fits(probe, keys, |i| {
            let mut sum = 0.0;
            for d in 0..D {
                sum += probe.weight[d] * self.left(probe, d, i);
            }
            sum
        });
    }

    /// As [`Rows::room`] for the best of a block, with the best sum in place of the best ratios.
    #[inline(always)]
    fn room_of_block(&self, probe: &Probe, joint: &Lane, keys: &mut Lane) {
        self.where_it_fits(probe, keys, |i| {
            let mut sum = probe.joint * joint[i];
            for d in 0..D {
                sum -= probe.weight[d] * probe.requested[d] * self.inverse[d][i];
            }
            sum
        });
    }

    /// How much of the request is there, in the dimension that lacks most.
    #[inline(always)]
    fn filled(&self, probe: &Probe, keys: &mut Lane) {
        for i in 0..LANES {
            let mut worst = 1.0;
            for d in 0..D {
                let filled = self.ratio[d][i] / (self.inverse[d][i] * probe.requested[d]);
                worst = if filled < worst { filled } else { worst };
            }
            keys[i] = if self.ratio[0][i] >= 0.0 { worst } else { f32::NEG_INFINITY };
        }
    }
}

#[inline(always)]
fn prices(table: &Table<'_>, probe: &Probe) -> Lane {
    let mut price = [0.0; LANES];
    for (rate, amount) in table.rate.iter().zip(probe.amounts).take(probe.rates) {
        for i in 0..LANES {
            price[i] += amount * rate[i];
        }
    }
    price
}
