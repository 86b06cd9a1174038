//! The fleet as a request sees it: one row for each distinct look, in packed columns, with a bound for every 64 rows.
//!
//! Clusters that offer the same are the same to a request, whatever they are called: they share a row.
//! How they are searched is told in [`super::search`].

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::columns::probe::Probe;
use super::columns::{Columns, LANES, Lane, Numbers, Summaries, vector_weights};
use super::members::Members;
use crate::id::ClusterId;
use crate::policy::Policy;
use crate::price::{Cost, Currency, Rate};
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// What a request sees of a cluster that may get promises.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    pub(crate) allocatable: Resources,
    pub(crate) available: Resources,
    pub(crate) cost: Option<Cost>,
}

impl Look {
    /// By what clusters of one price are made neighbours.
    fn rates(&self) -> Option<[u64; 3]> {
        let cost = self.cost.as_ref()?;
        Some([cost.cpu, cost.memory, cost.gpu].map(Rate::billionths))
    }

    fn hash(&self) -> u64 {
        FxBuildHasher.hash_one(self)
    }
}

/// Clusters with the same look.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) look: Look,
    hash: u64,
    members: Members,
}

impl Row {
    /// The clusters that look so, in order of their ids.
    pub(super) fn members(&self) -> impl Iterator<Item = &ClusterId> {
        self.members.iter()
    }
}

/// Rows, where they are, and their columns.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    weights: [f32; DIMENSIONS],
    currency: Option<Currency>,
    /// Whether the broker's own strategy counts cost: then clusters of one price are neighbours.
    by_cost: bool,
    rows: Vec<Option<Row>>,
    vacant: Vec<usize>,
    row_of_cluster: FxHashMap<ClusterId, usize>,
    /// By the hash of a look. Of two looks with one hash only the later is found here; a cluster that looks
    /// like the other gets a row of its own, which is as right and only longer.
    row_of_look: FxHashMap<u64, usize>,
    pub(super) columns: Columns,
    pub(super) summaries: Summaries,
    /// Rows that were put somewhere without regard to their size since the last sort.
    unsorted: usize,
}

impl Index {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            weights: vector_weights(policy.weights),
            currency: policy.currency.clone(),
            by_cost: policy.strategy.counts_cost(),
            rows: Vec::new(),
            vacant: Vec::new(),
            row_of_cluster: FxHashMap::default(),
            row_of_look: FxHashMap::default(),
            columns: Columns::default(),
            summaries: Summaries::default(),
            unsorted: 0,
        }
    }

    /// Puts a cluster where its look belongs.
    pub(crate) fn put(&mut self, id: &ClusterId, look: Look) {
        let before = self.row_of_cluster.get(id).copied();
        if let Some(row) = before
            && self.rows[row].as_ref().is_some_and(|row| row.look == look)
        {
            return;
        }
        let hash = look.hash();
        match (before, self.row_that_looks(&look, hash)) {
            (_, Some(shared)) => {
                self.remove(id);
                self.join(shared, id);
            }
            (Some(own), None) if self.is_alone(own) => self.rewrite(own, look, hash),
            (_, None) => {
                self.remove(id);
                let row = self.take_vacant();
                self.write(row, look, hash, id.clone());
                self.unsorted += 1;
            }
        }
        if self.unsorted > self.rows.len() / 2 + LANES {
            self.settle();
        }
    }

    /// Takes a cluster out, if it is there.
    pub(crate) fn remove(&mut self, id: &ClusterId) {
        let Some(row) = self.row_of_cluster.remove(id) else {
            return;
        };
        if self.is_alone(row) {
            self.clear(row);
            self.vacant.push(row);
        } else if let Some(shared) = &mut self.rows[row] {
            shared.members.remove(id);
        }
    }

    /// How many clusters there are.
    pub(crate) fn len(&self) -> usize {
        self.row_of_cluster.len()
    }

    fn row_that_looks(&self, look: &Look, hash: u64) -> Option<usize> {
        let row = *self.row_of_look.get(&hash)?;
        self.rows[row].as_ref().is_some_and(|kept| kept.look == *look).then_some(row)
    }

    fn is_alone(&self, row: usize) -> bool {
        self.rows[row].as_ref().is_some_and(|row| row.members.is_single())
    }

    fn join(&mut self, row: usize, id: &ClusterId) {
        if let Some(shared) = &mut self.rows[row] {
            shared.members.add(id.clone());
            self.row_of_cluster.insert(id.clone(), row);
        }
    }

    fn take_vacant(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            let row = self.rows.len();
            self.rows.push(None);
            if self.columns.lanes() * LANES == row {
                self.columns.add_lane();
            }
            row
        })
    }

    fn clear(&mut self, row: usize) {
        self.forget_look(row);
        self.rows[row] = None;
        self.columns.set(row, Numbers::VACANT);
        self.summarise(row / LANES);
    }

    /// A cluster that has its row for itself looks different now.
    fn rewrite(&mut self, row: usize, look: Look, hash: u64) {
        self.forget_look(row);
        let Some(kept) = &mut self.rows[row] else {
            return;
        };
        let before = std::mem::replace(&mut kept.look, look);
        kept.hash = hash;
        self.row_of_look.insert(hash, row);
        let look = &kept.look;
        if before.allocatable == look.allocatable && before.cost == look.cost {
            self.columns.set_room(row, look.allocatable, look.available);
            self.summaries.refresh_room(&self.columns, row / LANES, self.weights);
        } else {
            let numbers = self.numbers(row);
            self.columns.set(row, numbers);
            self.summarise(row / LANES);
        }
    }

    /// A row as the columns hold it; prices only in the currency that they are compared in.
    fn numbers(&self, row: usize) -> Numbers {
        let Some(Row { look, .. }) = &self.rows[row] else {
            return Numbers::VACANT;
        };
        let comparable = |cost: &&Cost| Some(&cost.currency) == self.currency.as_ref();
        let cost = look.cost.as_ref().filter(comparable);
        Numbers::of(look.allocatable, look.available, cost)
    }

    fn forget_look(&mut self, row: usize) {
        let Some(kept) = &self.rows[row] else {
            return;
        };
        if self.row_of_look.get(&kept.hash) == Some(&row) {
            self.row_of_look.remove(&kept.hash);
        }
    }

    fn write(&mut self, row: usize, look: Look, hash: u64, id: ClusterId) {
        self.row_of_look.insert(hash, row);
        self.row_of_cluster.insert(id.clone(), row);
        self.rows[row] = Some(Row { look, hash, members: Members::One(id) });
        let numbers = self.numbers(row);
        self.columns.set(row, numbers);
        self.summarise(row / LANES);
    }

    fn summarise(&mut self, lane: usize) {
        self.summaries.refresh(&self.columns, lane, self.weights);
    }

    /// Sorts rows by size: blocks of clusters of one size have tight bounds. Only speed depends on it.
    pub(crate) fn settle(&mut self) {
        let mut rows: Vec<Row> = std::mem::take(&mut self.rows).into_iter().flatten().collect();
        let by_cost = self.by_cost;
        rows.sort_by_cached_key(|row| {
            (by_cost.then(|| row.look.rates()), size_class(row.look.allocatable))
        });
        let mut sorted = Self::new(&Policy::default());
        (sorted.weights, sorted.currency, sorted.by_cost) =
            (self.weights, self.currency.take(), self.by_cost);
        for Row { look, hash, members } in rows {
            let row = sorted.take_vacant();
            for id in members.iter() {
                sorted.row_of_cluster.insert(id.clone(), row);
            }
            if let Some(first) = members.iter().next().cloned() {
                sorted.write(row, look, hash, first);
            }
            if let Some(written) = &mut sorted.rows[row] {
                written.members = members;
            }
        }
        *self = sorted;
    }

    /// Shows every row whose key is not below the floor, which `keep` returns anew each time. Large
    /// clusters come first: they are the likelier ones to raise it.
    pub(super) fn each_above(&self, probe: &Probe, mut keep: impl FnMut(&Row) -> f32) {
        let mut floor = f32::NEG_INFINITY;
        let mut keys: Lane = [0.0; LANES];
        for block in (0..self.columns.lanes()).rev() {
            if self.columns.keys(block, probe, &mut keys) < floor {
                continue;
            }
            for (lane, &key) in keys.iter().enumerate() {
                if key >= floor
                    && let Some(row) = self.row(block, lane)
                {
                    floor = keep(row);
                }
            }
        }
    }

    pub(super) fn row(&self, block: usize, lane: usize) -> Option<&Row> {
        self.rows.get(block * LANES + lane)?.as_ref()
    }
}

/// Clusters of nearly the same size are neighbours: eight classes for each doubling of CPU, then of memory.
fn size_class(allocatable: Resources) -> (u32, u32, u64) {
    let class = |amount: u64| {
        let magnitude = amount.max(1).ilog2();
        let eighth = ((u128::from(amount) * 8) >> magnitude) & 7;
        magnitude * 8 + u32::try_from(eighth).unwrap_or_default()
    };
    let memory = allocatable.get(Dimension::Memory);
    (class(allocatable.get(Dimension::Cpu)), class(memory), memory)
}
