//! What an operator decides about a ledger, beside the rules of the engine.

use std::collections::BTreeMap;

use rear_engine::{ClusterId, Duration, Policy};

/// What an operator decides about a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The rules of the engine.
    pub policy: Policy,
    /// How long events are kept.
    pub events: EventRetention,
    /// How much priority requesters get.
    pub priorities: PriorityCaps,
}

/// Events are kept until they are too old or too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRetention {
    /// Older events are removed.
    pub age: Duration,
    /// About so many are kept while they are young enough: commits go whole.
    pub count: usize,
}

/// The highest priority that counts, for each requester.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriorityCaps {
    /// For those that are not named; `None` is no limit.
    pub others: Option<i32>,
    /// By name.
    pub named: BTreeMap<ClusterId, i32>,
}

impl Default for EventRetention {
    fn default() -> Self {
        Self { age: Duration::from_seconds(7 * 24 * 60 * 60), count: 1_000_000 }
    }
}

impl From<Policy> for Settings {
    fn from(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }
}

impl PriorityCaps {
    /// What an asked priority counts as. It orders what waits together; the record keeps what was asked.
    #[must_use]
    pub fn counted(&self, requester: &ClusterId, asked: i32) -> i32 {
        let cap = self.named.get(requester).copied().or(self.others);
        cap.map_or(asked, |cap| asked.min(cap))
    }
}
