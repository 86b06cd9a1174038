//! Finding the best row: blocks of 64 are visited only if the best that they could offer comes near the best found
//! so far, and only rows that come near it themselves are compared exactly.

use super::columns::probe::Probe;
use super::columns::{LANES, Lane, Rates};
use super::index::{Index, Row};

impl Index {
    /// Finds the row that `judge` likes best. `judge` is exact; it is asked about a row only if that may
    /// be better than the best so far, which it is told, and answers `None` if it is not better.
    pub(super) fn best<'a, K: Ord>(
        &'a self,
        probe: &Probe,
        judge: impl FnMut(&'a Row, Option<&K>) -> Option<K>,
    ) -> Option<K> {
        let mut search =
            Search { index: self, probe, judge, best: None, floor: f32::NEG_INFINITY, rates: None };
        if probe.is_bounded_by_summaries() {
            // The most promising block first: what it yields rules most others out.
            let mut bounds: Lane = [0.0; LANES];
            if let Some(block) = search.most_promising_block(&mut bounds) {
                search.visit(block);
                search.visit_promising_blocks(block, &mut bounds);
            }
        } else {
            (0..self.columns.lanes()).rev().for_each(|block| search.visit(block));
        }
        search.best
    }
}

/// One walk over the blocks.
struct Search<'a, 'p, K, J> {
    index: &'a Index,
    probe: &'p Probe,
    judge: J,
    best: Option<K>,
    /// Keys below this cannot be better than `best`.
    floor: f32,
    /// What `best` charges, where the columns hold that exactly.
    rates: Option<Rates>,
}

impl<'a, K: Ord, J: FnMut(&'a Row, Option<&K>) -> Option<K>> Search<'a, '_, K, J> {
    fn most_promising_block(&self, bounds: &mut Lane) -> Option<usize> {
        let mut best = (f32::NEG_INFINITY, None);
        for lane in 0..self.index.summaries.lanes() {
            let bound = self.index.summaries.bounds(lane, self.probe, bounds);
            if bound > best.0 {
                best = (bound, Some(lane * LANES + position_of(bounds, bound)));
            }
        }
        best.1
    }

    fn visit_promising_blocks(&mut self, but: usize, bounds: &mut Lane) {
        let lanes = self.index.summaries.lanes();
        for lane in 0..lanes {
            // The bounds of a single lane are still there from the walk before.
            if lanes > 1 && self.index.summaries.bounds(lane, self.probe, bounds) < self.floor {
                continue;
            }
            let mut from = 0;
            while let Some(position) = next_above(bounds, from, self.floor) {
                let block = lane * LANES + position;
                if block != but && self.may_charge_better(block) {
                    self.visit(block);
                }
                from = position + 1;
            }
        }
    }

    /// Many clusters charge the same: equal prices are told apart from nearly equal ones by their rates,
    /// where the columns hold those exactly.
    fn may_charge_better(&self, block: usize) -> bool {
        let rates = || self.index.summaries.rates(block, self.probe.goal());
        let comparable = self.rates.filter(|_| self.index.columns.holds_rates_exactly(block));
        !comparable.is_some_and(|best| self.probe.is_no_better(rates(), best))
    }

    /// The most promising row first: what it yields rules most others out.
    fn visit(&mut self, block: usize) {
        let mut keys: Lane = [0.0; LANES];
        let largest = self.index.columns.keys(block, self.probe, &mut keys);
        if largest < self.floor.max(f32::MIN) {
            return;
        }
        let first = position_of(&keys, largest);
        self.consider(block, first, largest);
        if !self.may_charge_better(block) {
            return;
        }
        keys[first] = f32::NEG_INFINITY;
        let mut from = 0;
        while let Some(lane) = next_above(&keys, from, self.floor) {
            self.consider(block, lane, keys[lane]);
            from = lane + 1;
        }
    }

    // Approximate by purpose: the floor only prunes.
    #[allow(clippy::float_arithmetic)]
    fn consider(&mut self, block: usize, lane: usize, key: f32) {
        let (rates, exact) = self.index.columns.rates(block * LANES + lane);
        if exact && self.rates.is_some_and(|best| self.probe.is_no_better(rates, best)) {
            return;
        }
        let Some(row) = self.index.row(block, lane) else {
            return;
        };
        let Some(verdict) = (self.judge)(row, self.best.as_ref()) else {
            return;
        };
        if self.best.as_ref().is_none_or(|best| *best < verdict) {
            self.best = Some(verdict);
            self.floor = self.floor.max(key - self.probe.margin(key));
            self.rates = exact.then_some(rates);
        }
    }
}

/// The next key that is in question and not below the floor; eight are passed over at a time.
fn next_above(keys: &Lane, from: usize, floor: f32) -> Option<usize> {
    const WIDTH: usize = 8;
    let floor = floor.max(f32::MIN);
    let mut start = from / WIDTH * WIDTH;
    while start < LANES {
        let chunk = &keys[start..start + WIDTH];
        if largest_of(chunk) >= floor {
            let found =
                chunk.iter().enumerate().find(|(i, key)| start + i >= from && **key >= floor);
            if let Some((i, _)) = found {
                return Some(start + i);
            }
        }
        start += WIDTH;
    }
    None
}

/// Where the largest key is.
fn position_of(keys: &Lane, key: f32) -> usize {
    keys.iter().position(|&other| other >= key).unwrap_or_default()
}

fn largest_of(keys: &[f32]) -> f32 {
    keys.iter().fold(f32::NEG_INFINITY, |best, &key| if key > best { key } else { best })
}
