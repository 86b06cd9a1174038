//! Finding the best row: blocks of 32 are visited only if the best that they could offer comes near the best found
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
            search.visit_promising_blocks();
        } else {
            (0..self.columns.blocks()).rev().for_each(|block| search.visit(block));
        }
        search.best
    }

    /// Where to begin if prices are compared: rows are sorted by them, and who is the first in one rate is often so
    /// in all.
    fn end_of_prices(&self, probe: &Probe) -> Option<usize> {
        let last = self.columns.blocks().checked_sub(1)?;
        let end = if probe.prefers_cheap() { last } else { 0 };
        (self.is_sorted_by_cost() && probe.compares_rates()).then_some(end)
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

/// What the blocks of one summary could offer at best.
struct Bounds {
    of: Option<usize>,
    largest: f32,
    each: Lane,
}

impl Bounds {
    /// Works them out, unless they are still there from the walk before.
    fn work_out(&mut self, index: &Index, number: usize, probe: &Probe) {
        if self.of != Some(number) {
            self.of = Some(number);
            self.largest = index.summaries.bounds(number, probe, &mut self.each);
        }
    }
}

impl<'a, K: Ord, J: FnMut(&'a Row, Option<&K>) -> Option<K>> Search<'a, '_, K, J> {
    /// The most promising block first: what it yields rules most others out.
    fn visit_promising_blocks(&mut self) {
        let mut bounds = Bounds { of: None, largest: f32::MIN, each: [0.0; LANES] };
        let mut first = self.index.end_of_prices(self.probe);
        if let Some(block) = first {
            self.visit(block);
        }
        if self.best.is_none() {
            first = self.most_promising_block(&mut bounds);
            if let Some(block) = first {
                self.visit(block);
            }
        }
        for number in 0..self.index.summaries.len() {
            self.visit_others(number, &mut bounds, first);
        }
    }

    fn most_promising_block(&self, bounds: &mut Bounds) -> Option<usize> {
        let mut best = (f32::MIN, None);
        for number in 0..self.index.summaries.len() {
            bounds.work_out(self.index, number, self.probe);
            if bounds.largest > best.0 {
                let position = Picked::at_least(&bounds.each, bounds.largest).next();
                best = (bounds.largest, position.map(|position| number * LANES + position));
            }
        }
        best.1
    }

    fn visit_others(&mut self, number: usize, bounds: &mut Bounds, first: Option<usize>) {
        let mut blocks = self.may_charge_better(number);
        if let Some(first) = first.filter(|first| first / LANES == number) {
            blocks = blocks.without(first % LANES);
        }
        if blocks.is_empty() {
            return;
        }
        bounds.work_out(self.index, number, self.probe);
        if bounds.largest < self.floor {
            return;
        }
        blocks = blocks.and(Picked::at_least(&bounds.each, self.floor));
        let mut keys: Lane = [0.0; LANES];
        while let Some((block, largest)) =
            self.index.columns.next_block(&mut blocks, number, self.probe, self.floor, &mut keys)
        {
            self.look_into(block, largest, &mut keys);
            blocks = blocks.and(Picked::at_least(&bounds.each, self.floor));
            blocks = blocks.and(self.may_charge_better(number));
        }
    }

    /// The blocks of a summary that may charge better than the best so far. Many clusters charge the same: equal
    /// prices are told apart from nearly equal ones by their rates, where the columns hold those exactly.
    fn may_charge_better(&self, number: usize) -> Picked {
        let better = |best| self.index.summaries.may_charge_better(number, self.probe, best);
        self.rates.map_or(Picked::ALL, better)
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
