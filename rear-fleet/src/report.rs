//! What came of it: how long things took, what was refused or failed, and every promise that was broken.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::latency::Latencies;
use crate::witness::Broken;

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// An advertisement, until its answer.
    Publish,
    /// A request for capacity that was granted, until its answer; attempts whose answer was lost included.
    Reserve,
    /// From a request for capacity until a side has put it into effect.
    Told,
    /// A confirmation of use, until its answer.
    Activate,
    /// The end of a promise, until its answer.
    Release,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Reserve => "reserve",
            Self::Told => "told",
            Self::Activate => "activate",
            Self::Release => "release",
        }
    }
}

/// What a fleet has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How long things took.
    pub latencies: BTreeMap<Operation, Latencies>,
    /// Requests that the broker decided against, by its reason.
    pub refused: BTreeMap<String, u64>,
    /// Operations that had no answer in the end, by what went wrong.
    pub failed: BTreeMap<String, u64>,
    /// Agents that were ended without warning and started again.
    pub crashes: u64,
    /// Requests that were abandoned on purpose before their answer, and asked again.
    pub lost_answers: u64,
    /// The first broken promises.
    pub broken: Vec<Broken>,
    /// How many there are.
    pub broken_count: u64,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.broken_count == 0
    }

    /// How often something was done.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.latencies.get(&operation).map_or(0, Latencies::count)
    }

    pub(crate) fn took(&mut self, operation: Operation, took: Duration) {
        self.latencies.entry(operation).or_default().record(took);
    }

    pub(crate) fn refused(&mut self, reason: String) {
        *self.refused.entry(reason).or_default() += 1;
    }

    pub(crate) fn failed(&mut self, what: String) {
        *self.failed.entry(what).or_default() += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (operation, latencies) in &self.latencies {
            writeln!(f, "{:<9}{latencies}", operation.name())?;
        }
        for (word, counts) in [("refused", &self.refused), ("failed", &self.failed)] {
            for (why, count) in counts {
                writeln!(f, "{word:<9}{count:>9} times  {why}")?;
            }
        }
        writeln!(f, "crashes  {:>9}", self.crashes)?;
        writeln!(f, "lost     {:>9} answers", self.lost_answers)?;
        writeln!(f, "broken   {:>9} promises", self.broken_count)?;
        self.broken.iter().try_for_each(|broken| writeln!(f, "  {broken}"))
    }
}
