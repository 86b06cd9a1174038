//! Finding the best row: blocks of 64 are visited only if the best that they could offer comes near the best found
//! so far, and only rows that come near it themselves are compared exactly.

use super::columns::pick::Picked;
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
            Search { index: self, probe, judge, best: None, floor: f32::MIN, rates: None };
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
    /// Keys below this cannot be better than `best`; what is out of the question is always below it.
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
                let position = Picked::at_least(bounds, bound).next();
                best = (bound, position.map(|position| lane * LANES + position));
            }
        }
        best.1
    }

    fn visit_promising_blocks(&mut self, but: usize, bounds: &mut Lane) {
        let lanes = self.index.summaries.lanes();
        let mut keys: Lane = [0.0; LANES];
        for lane in 0..lanes {
            // The bounds of a single lane are still there from the walk before.
            if lanes > 1 && self.index.summaries.bounds(lane, self.probe, bounds) < self.floor {
                continue;
            }
            if but / LANES == lane {
                bounds[but % LANES] = f32::NEG_INFINITY;
            }
            let mut blocks = self.promising(bounds, lane);
            while let Some((block, largest)) =
                self.index.columns.next_block(&mut blocks, lane, self.probe, self.floor, &mut keys)
            {
                self.look_into(block, largest, &mut keys);
                blocks = blocks.and(self.promising(bounds, lane));
            }
        }
    }

    /// The blocks of a lane that may hold something better than the best so far. Many clusters charge the same:
    /// equal prices are told apart from nearly equal ones by their rates, where the columns hold those exactly.
    fn promising(&self, bounds: &Lane, lane: usize) -> Picked {
        let near = Picked::at_least(bounds, self.floor);
        match self.rates {
            Some(best) => near.and(self.index.summaries.may_charge_better(lane, self.probe, best)),
            None => near,
        }
    }

    fn visit(&mut self, block: usize) {
        let mut keys: Lane = [0.0; LANES];
        let largest = self.index.columns.keys(block, self.probe, &mut keys);
        if largest >= self.floor {
            self.look_into(block, largest, &mut keys);
        }
    }

    /// The most promising row first: what it yields rules most others out.
    fn look_into(&mut self, block: usize, largest: f32, keys: &mut Lane) {
        let Some(first) = Picked::at_least(keys, largest).next() else {
            return;
        };
        self.consider(block, first, largest);
        keys[first] = f32::NEG_INFINITY;
        let mut others = Picked::at_least(keys, self.floor);
        if let Some(best) = self.rates {
            others = others.and(self.index.columns.may_charge_better(block, self.probe, best));
        }
        for lane in others {
            if keys[lane] >= self.floor {
                self.consider(block, lane, keys[lane]);
            }
        }
    }

    // Approximate by purpose: the floor only prunes.
    #[allow(clippy::float_arithmetic)]
    fn consider(&mut self, block: usize, lane: usize, key: f32) {
        let Some(row) = self.index.row(block, lane) else {
            return;
        };
        let Some(verdict) = (self.judge)(row, self.best.as_ref()) else {
            return;
        };
        if self.best.as_ref().is_none_or(|best| *best < verdict) {
            self.best = Some(verdict);
            self.floor = self.floor.max(key - self.probe.margin(key));
            if self.probe.compares_rates() {
                self.rates = self.index.columns.exact_rates(block * LANES + lane);
            }
        }
    }
}
