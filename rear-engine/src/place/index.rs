//! The fleet as a request sees it: one row for each distinct look, in packed columns, with a bound for every 32 rows.
//!
//! Clusters that offer the same are the same to a request, whatever they are called: they share a row.
//! How they are searched is told in [`super::search`].

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::columns::summary::Summaries;
use super::columns::{Columns, LANES, Numbers, vector_weights};
use super::members::Members;
use super::order::{Ends, arrange};
use crate::id::ClusterId;
use crate::policy::Policy;
use crate::price::{Cost, Currency, Rate};
use crate::resources::{DIMENSIONS, Resources};

/// What a request sees of a cluster that may get promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Look<'a> {
    pub(crate) allocatable: Resources,
    pub(crate) available: Resources,
    pub(crate) cost: Option<&'a Cost>,
}

impl Look<'_> {
    fn hash(&self) -> u64 {
        FxBuildHasher.hash_one(self)
    }
}

/// Clusters with the same look.
#[derive(Debug, Clone)]
pub(super) struct Row {
    allocatable: Resources,
    available: Resources,
    cost: Option<Cost>,
    hash: u64,
    members: Members,
}

impl Row {
    fn new(look: Look<'_>, hash: u64, members: Members) -> Self {
        let Look { allocatable, available, cost } = look;
        Self { allocatable, available, cost: cost.cloned(), hash, members }
    }

    pub(super) fn look(&self) -> Look<'_> {
        let Self { allocatable, available, cost, .. } = self;
        Look { allocatable: *allocatable, available: *available, cost: cost.as_ref() }
    }

    /// The clusters that look so, in order of their ids.
    pub(super) fn members(&self) -> impl Iterator<Item = &ClusterId> {
        self.members.iter()
    }

    /// By what clusters of one price are made neighbours.
    pub(super) fn rates(&self) -> Option<[u64; 3]> {
        let cost = self.cost.as_ref()?;
        Some([cost.cpu, cost.memory, cost.gpu].map(Rate::billionths))
    }
}

/// The number of a row. A cluster keeps it from one change to the next, as long as the index is not sorted.
pub(crate) type RowNumber = usize;

/// Rows, where they are, and their columns.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    weights: [f32; DIMENSIONS],
    currency: Option<Currency>,
    /// Whether the broker's own strategy counts cost: then clusters of one price are neighbours.
    by_cost: bool,
    rows: Vec<Option<Row>>,
    vacant: Vec<RowNumber>,
    /// How many clusters there are.
    clusters: usize,
    /// By the hash of a look. Of two looks with one hash only the later is found here; a cluster that looks
    /// like the other gets a row of its own, which is as right and only longer.
    row_of_look: FxHashMap<u64, RowNumber>,
    pub(super) columns: Columns,
    pub(super) summaries: Summaries,
    ends: Ends,
    /// Rows that were put somewhere without regard to their size since they were brought into order.
    unsorted: usize,
}

impl Index {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            weights: vector_weights(policy.weights),
            currency: policy.currency,
            by_cost: policy.strategy.counts_cost(),
            rows: Vec::new(),
            vacant: Vec::new(),
            clusters: 0,
            row_of_look: FxHashMap::default(),
            columns: Columns::default(),
            summaries: Summaries::default(),
            ends: Ends::default(),
            unsorted: 0,
        }
    }

    /// Puts a cluster where its look belongs, out of the row in which it was before.
    pub(crate) fn put(
        &mut self,
        id: &ClusterId,
        before: Option<RowNumber>,
        look: Look<'_>,
    ) -> RowNumber {
        if let Some(row) = before
            && self.rows[row].as_ref().is_some_and(|row| row.look() == look)
        {
            return row;
        }
        let hash = look.hash();
        match (before, self.row_that_looks(look, hash)) {
            (_, Some(shared)) => {
                self.remove(id, before);
                self.join(shared, id);
                shared
            }
            (Some(own), None) if self.is_alone(own) => {
                self.rewrite(own, look, hash);
                own
            }
            (_, None) => {
                self.remove(id, before);
                let row = self.take_vacant();
                self.clusters += 1;
                self.write(row, Row::new(look, hash, Members::One(id.clone())));
                self.unsorted += 1;
                row
            }
        }
    }

    /// Takes a cluster out of its row, if it has one.
    pub(crate) fn remove(&mut self, id: &ClusterId, row: Option<RowNumber>) {
        let Some(row) = row else {
            return;
        };
        self.clusters -= 1;
        if self.is_alone(row) {
            self.clear(row);
            self.vacant.push(row);
        } else if let Some(shared) = &mut self.rows[row] {
            shared.members.remove(id);
        }
    }

    /// How many clusters there are.
    pub(crate) fn len(&self) -> usize {
        self.clusters
    }

    fn row_that_looks(&self, look: Look<'_>, hash: u64) -> Option<RowNumber> {
        let row = *self.row_of_look.get(&hash)?;
        self.rows[row].as_ref().is_some_and(|kept| kept.look() == look).then_some(row)
    }

    fn is_alone(&self, row: RowNumber) -> bool {
        self.rows[row].as_ref().is_some_and(|row| row.members.is_single())
    }

    fn join(&mut self, row: RowNumber, id: &ClusterId) {
        if let Some(shared) = &mut self.rows[row] {
            shared.members.add(id.clone());
            self.clusters += 1;
        }
    }

    fn take_vacant(&mut self) -> RowNumber {
        self.vacant.pop().unwrap_or_else(|| {
            let row = self.rows.len();
            self.rows.push(None);
            if self.columns.blocks() * LANES == row {
                self.columns.add_block();
            }
            row
        })
    }

    fn clear(&mut self, row: RowNumber) {
        self.forget_look(row);
        self.rows[row] = None;
        self.write_columns(row);
    }

    /// A cluster that has its row for itself looks different now.
    fn rewrite(&mut self, row: RowNumber, look: Look<'_>, hash: u64) {
        self.forget_look(row);
        self.row_of_look.insert(hash, row);
        let Some(kept) = &mut self.rows[row] else {
            return;
        };
        kept.hash = hash;
        kept.available = look.available;
        if kept.look() == look {
            self.columns.set_room(row, look.allocatable, look.available);
            self.summaries.refresh_room(&self.columns, row / LANES, self.weights);
        } else {
            kept.allocatable = look.allocatable;
            kept.cost = look.cost.cloned();
            self.write_columns(row);
        }
    }

    /// A row as the columns hold it; prices only in the currency that they are compared in.
    fn numbers(&self, row: RowNumber) -> Numbers {
        let Some(Row { allocatable, available, cost, .. }) = &self.rows[row] else {
            return Numbers::VACANT;
        };
        let comparable = |cost: &&Cost| Some(&cost.currency) == self.currency.as_ref();
        Numbers::of(*allocatable, *available, cost.as_ref().filter(comparable))
    }

    fn forget_look(&mut self, row: RowNumber) {
        let Some(kept) = &self.rows[row] else {
            return;
        };
        if let Entry::Occupied(found) = self.row_of_look.entry(kept.hash)
            && *found.get() == row
        {
            found.remove();
        }
    }

    fn write(&mut self, row: RowNumber, contents: Row) {
        self.row_of_look.insert(contents.hash, row);
        self.rows[row] = Some(contents);
        self.write_columns(row);
    }

    fn write_columns(&mut self, row: RowNumber) {
        self.columns.set(row, self.numbers(row));
        self.summaries.refresh(&self.columns, row / LANES, self.weights);
    }

    /// Whether so many rows were put anywhere that sorting pays. It touches every cluster, also those that share a row.
    pub(crate) fn is_unsorted(&self) -> bool {
        self.unsorted > self.rows.len().max(self.clusters) / 2 + LANES
    }

    /// Brings rows into order. Only speed depends on it. Every cluster has another row afterwards.
    pub(crate) fn settle(&mut self) {
        let rows = std::mem::take(&mut self.rows).into_iter().flatten().collect();
        let (rows, ends) = arrange(rows, self.by_cost);
        let mut sorted = Self::new(&Policy::default());
        (sorted.weights, sorted.currency, sorted.by_cost, sorted.clusters) =
            (self.weights, self.currency.take(), self.by_cost, self.clusters);
        sorted.ends = ends;
        for contents in rows {
            let row = sorted.take_vacant();
            sorted.write(row, contents);
        }
        *self = sorted;
    }

    /// Who charged most and least when rows were brought into order, if they are in the order of prices.
    pub(super) fn ends_of_prices(&self) -> Option<Ends> {
        self.by_cost.then_some(self.ends)
    }

    /// Where each cluster is.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&ClusterId, RowNumber)> {
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter_map(|(row, contents)| Some((row, contents.as_ref()?)));
        rows.flat_map(|(row, contents)| contents.members().map(move |id| (id, row)))
    }

    pub(super) fn row(&self, block: usize, lane: usize) -> Option<&Row> {
        self.rows.get(block * LANES + lane)?.as_ref()
    }
}
