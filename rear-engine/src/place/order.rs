//! In which order rows stand: those that are alike are neighbours, so that the bounds of their blocks are tight. Only speed
//! depends on it.

use std::cmp::Reverse;

use super::columns::LANES;
use super::index::{Row, RowNumber};
use crate::resources::{Dimension, Resources};

/// Of so many blocks and fewer, halving makes none tighter than sorting did.
const FEW_BLOCKS: usize = 4;

/// Who has most room of those who charge most, and of those who charge least.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
    pub(super) dearest: RowNumber,
    pub(super) cheapest: RowNumber,
}

/// Where a row comes from, and how large it is: the logarithms of its CPU and memory.
struct Spot {
    from: RowNumber,
    size: [u32; 2],
}

/// Brings rows into order: by size, or first by price where that counts, the dearest first.
pub(super) fn arrange(rows: Vec<Row>, by_cost: bool) -> (Vec<Row>, Ends) {
    let mut spots: Vec<Spot> = rows.iter().enumerate().map(spot).collect();
    let rates = |spot: &Spot| by_cost.then(|| rows[spot.from].rates());
    spots.sort_by_cached_key(|spot| (Reverse(rates(spot)), spot.size, spot.from));
    let room = |spot: &Spot| size(rows[spot.from].look().available).iter().sum::<u32>();
    let (mut start, mut ends) = (0, Vec::new());
    for of_one_price in spots.chunk_by_mut(|one, next| rates(one) == rates(next)) {
        let next = start + of_one_price.len();
        if blocks(start, next) > FEW_BLOCKS {
            halve(of_one_price, start);
        }
        ends.extend((start..next).max_by_key(|row| room(&of_one_price[row - start])));
        start = next;
    }
    let end = |row: Option<&RowNumber>| row.copied().unwrap_or_default();
    let ends = Ends { dearest: end(ends.first()), cheapest: end(ends.last()) };
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    (spots.iter().filter_map(|spot| rows[spot.from].take()).collect(), ends)
}

fn spot((from, row): (RowNumber, &Row)) -> Spot {
    Spot { from, size: size(row.look().allocatable) }
}

/// CPU and memory in 256ths of a doubling, or nearly so: linear between two powers of two.
fn size(resources: Resources) -> [u32; 2] {
    [Dimension::Cpu, Dimension::Memory].map(|dimension| {
        let amount = resources.get(dimension).max(1);
        let magnitude = amount.ilog2();
        let part = ((u128::from(amount) << 8) >> magnitude) & 0xff;
        (magnitude << 8) + u32::try_from(part).unwrap_or_default()
    })
}

/// How many blocks these rows are in.
fn blocks(start: RowNumber, end: RowNumber) -> usize {
    end.div_ceil(LANES) - start / LANES
}

/// Halves rows again and again, between two blocks, where they differ most: each block is left with rows that are alike in both
/// dimensions. Sorted by one of them, every block would have the whole range of the other.
fn halve(spots: &mut [Spot], start: RowNumber) {
    let blocks = blocks(start, start + spots.len());
    if blocks < 2 {
        return;
    }
    let range = |dimension: usize| {
        let sizes = spots.iter().map(|spot| spot.size[dimension]);
        let (least, most) =
            sizes.fold((u32::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
        most - least
    };
    let widest = usize::from(range(1) > range(0));
    let boundary = (start / LANES + blocks.div_ceil(2)) * LANES;
    spots.select_nth_unstable_by_key(boundary - start, |spot| {
        (spot.size[widest], spot.size[1 - widest], spot.from)
    });
    let (smaller, larger) = spots.split_at_mut(boundary - start);
    halve(smaller, start);
    halve(larger, boundary);
}
