//! Finding the best row: blocks of 32 are visited only if the best that they could offer comes near the best found
//! so far, and only rows that come near it themselves are compared exactly.
// `always`: a whole search is compiled twice; see `columns::vectors`.
#![allow(clippy::inline_always)]

use super::columns::pick::Picked;
use super::columns::probe::Probe;
use super::columns::vectors::{Vectorised, Vectors, vectorised};
use super::columns::{LANES, Lane, Rates};
use super::index::{Index, Row, RowNumber};

impl Index {
    /// Finds the row that `judge` likes best. `judge` is exact; it is asked about a row only if that may
    /// be better than the best so far, which it is told, and answers `None` if it is not better.
    pub(super) fn best<'a, K: Ord>(
        &'a self,
        probe: &Probe,
        judge: impl FnMut(&'a Row, Option<&K>) -> Option<K>,
    ) -> Option<K> {
        let verdict = Verdict { probe, judge, best: None, floor: f32::MIN, rates: None };
        vectorised(Search { index: self, verdict })
    }

    /// Shows every row whose key is not below the floor, which `keep` returns anew each time. Large
    /// clusters come first: they are the likelier ones to raise it.
    pub(super) fn each_above(&self, probe: &Probe, keep: impl FnMut(&Row) -> f32) {
        vectorised(Listing { index: self, probe, keep });
    }

    /// Where to begin if prices are compared: rows are in their order, and who is the first in one rate is often so in all.
    fn end_of_prices(&self, probe: &Probe) -> Option<RowNumber> {
        let ends = self.ends_of_prices().filter(|_| probe.compares_rates())?;
        Some(if probe.prefers_cheap() { ends.cheapest } else { ends.dearest })
    }
}

/// One walk over all blocks.
struct Listing<'a, 'p, F> {
    index: &'a Index,
    probe: &'p Probe,
    keep: F,
}

impl<F: FnMut(&Row) -> f32> Vectorised for Listing<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, vectors: impl Vectors) {
        let mut floor = f32::NEG_INFINITY;
        let mut keys: Lane = [0.0; LANES];
        for block in (0..self.index.columns.blocks()).rev() {
            if self.index.columns.keys(block, self.probe, vectors, &mut keys) < floor {
                continue;
            }
            for (lane, &key) in keys.iter().enumerate() {
                if key >= floor
                    && let Some(row) = self.index.row(block, lane)
                {
                    floor = (self.keep)(row);
                }
            }
        }
    }
}

/// One walk over the blocks that may hold the best row.
struct Search<'a, 'p, K, J> {
    index: &'a Index,
    verdict: Verdict<'p, K, J>,
}

/// What is known of the best row so far.
struct Verdict<'p, K, J> {
    probe: &'p Probe,
    judge: J,
    best: Option<K>,
    /// Keys below this cannot be better than `best`; what is out of the question is always below it.
    floor: f32,
    /// What `best` charges, where the columns hold that exactly.
    rates: Option<Rates>,
}

/// What the blocks of one summary could offer at best.
struct Bounds {
    of: Option<usize>,
    largest: f32,
    each: Lane,
}

impl Bounds {
    /// Works them out, unless they are still there from the walk before.
    #[inline(always)]
    fn work_out(&mut self, index: &Index, number: usize, probe: &Probe, vectors: impl Vectors) {
        if self.of != Some(number) {
            self.of = Some(number);
            self.largest = index.summaries.bounds(number, probe, vectors, &mut self.each);
        }
    }
}

impl<'a, K: Ord, J: FnMut(&'a Row, Option<&K>) -> Option<K>> Vectorised for Search<'a, '_, K, J> {
    type Output = Option<K>;

    #[inline(always)]
    fn run(mut self, vectors: impl Vectors) -> Option<K> {
        if self.verdict.probe.is_bounded_by_summaries() {
            self.visit_promising_blocks(vectors);
        } else {
            let blocks = (0..self.index.columns.blocks()).rev();
            blocks.for_each(|block| self.visit(block, vectors));
        }
        self.verdict.best
    }
}

impl<'a, K: Ord, J: FnMut(&'a Row, Option<&K>) -> Option<K>> Search<'a, '_, K, J> {
    /// The most promising block first: what it yields rules most others out.
    #[inline(always)]
    fn visit_promising_blocks(&mut self, vectors: impl Vectors) {
        if self.begins_with_the_best(vectors) {
            return;
        }
        let mut bounds = Bounds { of: None, largest: f32::MIN, each: [0.0; LANES] };
        let first = self.most_promising_block(&mut bounds, vectors);
        if let Some(block) = first {
            self.visit(block, vectors);
        }
        for number in 0..self.index.summaries.len() {
            self.visit_others(number, &mut bounds, first, vectors);
        }
    }

    /// If prices are compared, the row that probably ends them may be enough: its rates tell whether anyone can be better.
    #[inline(always)]
    fn begins_with_the_best(&mut self, vectors: impl Vectors) -> bool {
        let Some(row) = self.index.end_of_prices(self.verdict.probe) else { return false };
        let (block, lane) = (row / LANES, row % LANES);
        self.verdict.consider(self.index, block, lane, f32::MIN);
        if self.verdict.best.is_none() {
            return false;
        }
        let mut summaries = 0..self.index.summaries.len();
        let enough = summaries.all(|number| self.may_charge_better(number, vectors).is_empty());
        if !enough {
            // Its key was not needed until now: it keeps all those out that only have one better rate.
            let mut keys: Lane = [0.0; LANES];
            self.index.columns.keys(block, self.verdict.probe, vectors, &mut keys);
            self.verdict.raise_floor(keys[lane]);
        }
        enough
    }

    #[inline(always)]
    fn most_promising_block(&self, bounds: &mut Bounds, vectors: impl Vectors) -> Option<usize> {
        let mut best = (f32::MIN, None);
        for number in 0..self.index.summaries.len() {
            bounds.work_out(self.index, number, self.verdict.probe, vectors);
            if bounds.largest > best.0 {
                let position = vectors.at_least(&bounds.each, bounds.largest).next();
                best = (bounds.largest, position.map(|position| number * LANES + position));
            }
        }
        best.1
    }

    #[inline(always)]
    fn visit_others(
        &mut self,
        number: usize,
        bounds: &mut Bounds,
        first: Option<usize>,
        vectors: impl Vectors,
    ) {
        let mut blocks = self.may_charge_better(number, vectors);
        if let Some(first) = first.filter(|first| first / LANES == number) {
            blocks = blocks.without(first % LANES);
        }
        if blocks.is_empty() {
            return;
        }
        bounds.work_out(self.index, number, self.verdict.probe, vectors);
        let mut floor = self.verdict.floor;
        blocks = blocks.and(vectors.at_least(&bounds.each, floor));
        while let Some(block) = blocks.next() {
            self.visit(number * LANES + block, vectors);
            if self.verdict.floor > floor {
                // A better row was found: fewer blocks may hold a still better one.
                floor = self.verdict.floor;
                blocks = blocks.and(vectors.at_least(&bounds.each, floor));
                blocks = blocks.and(self.may_charge_better(number, vectors));
            }
        }
    }

    /// The blocks of a summary that may charge better than the best so far. Many clusters charge the same: equal
    /// prices are told apart from nearly equal ones by their rates, where the columns hold those exactly.
    #[inline(always)]
    fn may_charge_better(&self, number: usize, vectors: impl Vectors) -> Picked {
        let Verdict { probe, rates, .. } = self.verdict;
        rates.map_or(Picked::ALL, |best| {
            self.index.summaries.may_charge_better(number, probe, best, vectors)
        })
    }

    /// The most promising row first: what it yields rules most others out.
    #[inline(always)]
    fn visit(&mut self, block: usize, vectors: impl Vectors) {
        let Self { index, verdict } = self;
        let mut keys: Lane = [0.0; LANES];
        let largest = index.columns.keys(block, verdict.probe, vectors, &mut keys);
        if largest < verdict.floor {
            return;
        }
        let Some(first) = vectors.at_least(&keys, largest).next() else { return };
        verdict.consider(index, block, first, largest);
        let mut others = vectors.at_least(&keys, verdict.floor).without(first);
        if let Some(best) = verdict.rates {
            let better = index.columns.may_charge_better(block, verdict.probe, best, vectors);
            others = others.and(better);
        }
        for lane in others {
            if keys[lane] >= verdict.floor {
                verdict.consider(index, block, lane, keys[lane]);
            }
        }
    }
}

impl<'a, K: Ord, J: FnMut(&'a Row, Option<&K>) -> Option<K>> Verdict<'_, K, J> {
    // Approximate by purpose: the floor only prunes.
    #[allow(clippy::float_arithmetic)]
    fn raise_floor(&mut self, key: f32) {
        self.floor = self.floor.max(key - self.probe.margin(key));
    }

    fn consider(&mut self, index: &'a Index, block: usize, lane: usize, key: f32) {
        let Some(row) = index.row(block, lane) else {
            return;
        };
        let Some(verdict) = (self.judge)(row, self.best.as_ref()) else {
            return;
        };
        if self.best.as_ref().is_none_or(|best| *best < verdict) {
            self.best = Some(verdict);
            self.raise_floor(key);
            if self.probe.compares_rates() {
                self.rates = index.columns.exact_rates(block * LANES + lane);
            }
        }
    }
}
