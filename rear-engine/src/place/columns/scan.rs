//! Computing the keys of 32 rows: plain loops over fixed arrays that compilers turn into vector instructions.
//!
//! The same loops are compiled twice, for every x86-64 and for those with AVX2, and chosen at run time:
//! no build flag ties a binary to a machine.
// The five unsafe calls of the crate: each enters a function that is compiled for AVX2, after the
// processor said that it has it. Measured in benches/decide.rs: without it scans take about twice as long.
#![allow(unsafe_code)]
// `always`: the loops must be compiled as part of each of the two callers.
#![allow(clippy::inline_always)]
// Several arrays are read at the same position.
#![allow(clippy::needless_range_loop)]

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::pick::Picked;
use super::probe::{Goal, Probe};
use super::summary::{JOINTS, Summaries};
use super::{Block, Columns, DIMENSIONS, LANES, Lane, RATES, TOLERANCE, largest};

impl Columns {
    /// Writes the key of each of 32 rows, `-∞` for those that are out of the question, and returns the
    /// largest.
    pub(in crate::place) fn keys(&self, block: usize, probe: &Probe, keys: &mut Lane) -> f32 {
        dispatch(&self.table(block), probe, keys)
    }

    /// Of some blocks of a lane of summaries, takes the next that has a row whose key is not below the floor. Writes
    /// its keys, and returns its number and the largest key.
    pub(in crate::place) fn next_block(
        &self,
        blocks: &mut Picked,
        lane: usize,
        probe: &Probe,
        floor: f32,
        keys: &mut Lane,
    ) -> Option<(usize, f32)> {
        let blocks = blocks.map(|block| lane * LANES + block);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as the line above asked; nothing else is required.
            return unsafe { next_block_avx2(self, blocks, probe, floor, keys) };
        }
        next_block(self, blocks, floor, |table| {
            write_keys(table, probe, keys);
            largest(keys)
        })
    }

    fn table(&self, block: usize) -> Table<'_> {
        let block = &self.0[block];
        Table { block, joint: None, rate: &block.rate }
    }
}

impl Summaries {
    /// Writes what the best of each of 32 blocks could be, and returns the largest.
    pub(in crate::place) fn bounds(&self, number: usize, probe: &Probe, keys: &mut Lane) -> f32 {
        let summary = &self.0[number];
        let joint = Some(&summary.joint[probe.joint_number()]);
        dispatch(
            &Table { block: &summary.best, joint, rate: summary.rates(probe.goal) },
            probe,
            keys,
        )
    }
}

/// The best free shares of 32 rows, and the best of their weighted sums.
type BestRoom = ([f32; DIMENSIONS], [f32; JOINTS]);

impl Columns {
    /// The best free shares of 32 rows, and the best of their weighted sums.
    pub(super) fn best_room(&self, block: usize, weights: [f32; DIMENSIONS]) -> BestRoom {
        let ratio = &self.0[block].ratio;
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as the line above asked; nothing else is required.
            return unsafe { best_room_avx2(ratio, weights) };
        }
        best_room(ratio, weights, largest)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn best_room_avx2(ratio: &[Lane; DIMENSIONS], weights: [f32; DIMENSIONS]) -> BestRoom {
    best_room(ratio, weights, |lane| avx2::largest(lane))
}

#[inline(always)]
fn best_room(
    ratio: &[Lane; DIMENSIONS],
    weights: [f32; DIMENSIONS],
    largest: impl Fn(&Lane) -> f32,
) -> BestRoom {
    let [cpu, memory, gpu, storage] = ratio;
    let mut base = [0.0; LANES];
    let (mut with_gpu, mut with_storage, mut with_both) = (base, base, base);
    for i in 0..LANES {
        base[i] = weights[0] * cpu[i] + weights[1] * memory[i];
        with_gpu[i] = base[i] + weights[2] * gpu[i];
        with_storage[i] = base[i] + weights[3] * storage[i];
        with_both[i] = with_gpu[i] + weights[3] * storage[i];
    }
    // One by one: `map` would call a function that is not compiled for the same processor.
    let ratios = [largest(cpu), largest(memory), largest(gpu), largest(storage)];
    let joints = [largest(&base), largest(&with_gpu), largest(&with_storage), largest(&with_both)];
    (ratios, joints)
}

/// 32 rows of a table, or the bests of 32 blocks.
struct Table<'a> {
    block: &'a Block,
    joint: Option<&'a Lane>,
    rate: &'a [Lane; RATES],
}

fn dispatch(table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above asked; nothing else is required.
        return unsafe { keys_avx2(table, probe, keys) };
    }
    write_keys(table, probe, keys);
    largest(keys)
}

/// A bit for each of 32 numbers that is at least `floor`.
pub(super) fn at_least(numbers: &Lane, floor: f32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above asked; nothing else is required.
        return unsafe { avx2::at_least(numbers, floor) };
    }
    bits(numbers, |number| number >= floor)
}

/// A bit for each of 32 numbers that is at most `ceiling`.
pub(super) fn at_most(numbers: &Lane, ceiling: f32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above asked; nothing else is required.
        return unsafe { avx2::at_most(numbers, ceiling) };
    }
    bits(numbers, |number| number <= ceiling)
}

fn bits(numbers: &Lane, test: impl Fn(f32) -> bool) -> u64 {
    let bit = |(i, &number): (usize, &f32)| u64::from(test(number)) << i;
    numbers.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn keys_avx2(table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32 {
    write_keys(table, probe, keys);
    avx2::largest(keys)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn next_block_avx2(
    columns: &Columns,
    blocks: impl Iterator<Item = usize>,
    probe: &Probe,
    floor: f32,
    keys: &mut Lane,
) -> Option<(usize, f32)> {
    next_block(columns, blocks, floor, |table| {
        write_keys(table, probe, keys);
        avx2::largest(keys)
    })
}

#[inline(always)]
fn next_block(
    columns: &Columns,
    blocks: impl Iterator<Item = usize>,
    floor: f32,
    mut largest_key: impl FnMut(&Table<'_>) -> f32,
) -> Option<(usize, f32)> {
    for block in blocks {
        let largest = largest_key(&columns.table(block));
        if largest >= floor {
            return Some((block, largest));
        }
    }
    None
}

#[inline(always)]
fn write_keys(table: &Table<'_>, probe: &Probe, keys: &mut Lane) {
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
