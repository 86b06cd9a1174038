//! What comes out of a test: figures in tables, charts, counts, and every promise or invariant that was broken.

mod figures;
mod keep;
mod page;
mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::machine::Machine;
use crate::raw::Limits;

pub use keep::{KeepError, Results};
pub use table::{Cell, Table};

/// What came out of one test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The figures.
    pub tables: Vec<Table>,
    /// The same to look at.
    pub charts: Vec<Chart>,
    /// How much was done: what short runs are held to.
    pub counts: BTreeMap<String, u64>,
    /// What a reader has to know to understand the figures.
    pub notes: Vec<String>,
    /// Whatever must not be: nothing, if the broker is right.
    pub broken: Vec<String>,
}

impl Outcome {
    /// Counts something.
    pub fn count(&mut self, what: &str, many: impl TryInto<u64>) {
        *self.counts.entry(what.to_owned()).or_default() += many.try_into().unwrap_or(u64::MAX);
    }

    /// How much of something was counted.
    #[must_use]
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    /// Something that must not be, if it is not so.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(otherwise());
        }
    }

    /// Something that must not be.
    pub fn breaks(&mut self, broken: impl IntoIterator<Item = String>) {
        self.broken.extend(broken);
    }

    /// What a reader has to know.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// An outcome with what it was measured on: one file of the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which test.
    pub test: String,
    /// A seconds-long version, whose counts hold and whose times say nothing.
    pub short: bool,
    /// The seed.
    pub seed: u64,
    /// When it began (RFC 3339).
    pub at: String,
    /// How long it took.
    pub seconds: f64,
    /// Where.
    pub machine: Machine,
    /// What the machine can do at best, measured in the same run.
    pub limits: Limits,
    /// What came out.
    pub outcome: Outcome,
}
