//! What a cluster says of itself, checked once; the broker adds what it knows better.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::ask::Ask;
use crate::duration::Duration;
use crate::id::{ClusterId, ReservationId};
use crate::labels::Labels;
use crate::price::Cost;
use crate::resources::Resources;
use crate::text::Line;
use crate::time::Timestamp;

/// One entry for each requester whose pods run here: more than any body of one mebibyte can hold.
pub const MAX_CONSUMERS: usize = 10_000;

/// A clock that was set back must not lock a cluster out: after this long, an older timestamp counts again.
pub const CLOCK_SET_BACK_AFTER: Duration = Duration::from_seconds(60);

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertisement {
    /// A name for people; may equal the id.
    pub name: Line,
    /// When the agent made it, by the agent's clock.
    pub timestamp: Timestamp,
    /// Its place in the order of this agent's advertisements, from agents that count.
    pub order: Option<Order>,
    /// All that the machines have.
    pub capacity: Resources,
    /// What workloads may use of it.
    pub allocatable: Resources,
    /// What workloads have asked for.
    pub allocated: Resources,
    /// The part of `allocated` that others' offloaded workloads use.
    pub consumed: Consumed,
    /// What it charges.
    pub cost: Option<Cost>,
    /// Properties to select it by.
    pub labels: Labels,
    /// Where its own API is found.
    pub endpoint: Option<Line>,
}

/// The order of one agent's advertisements: its start, then a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// One more than the broker showed when the agent started.
    pub epoch: u64,
    /// Counts up from there.
    pub sequence: u64,
}

/// What each requester's offloaded workloads use here; the sum is part of `allocated`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consumed(BTreeMap<ClusterId, Resources>);

/// Why a report of consumption was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConsumedError {
    /// More than [`MAX_CONSUMERS`] entries.
    #[error("at most {MAX_CONSUMERS} requesters in consumed")]
    TooMany,
    /// One requester twice.
    #[error("requester {0} stands twice in consumed")]
    Repeated(ClusterId),
}

impl Consumed {
    /// Keeps a report. Whether there is as much allocated is checked where the ledger is.
    pub fn new(
        entries: impl IntoIterator<Item = (ClusterId, Resources)>,
    ) -> Result<Self, ConsumedError> {
        let mut by_requester = BTreeMap::new();
        for (requester, amount) in entries {
            if by_requester.len() == MAX_CONSUMERS {
                return Err(ConsumedError::TooMany);
            }
            if by_requester.insert(requester.clone(), amount).is_some() {
                return Err(ConsumedError::Repeated(requester));
            }
        }
        Ok(Self(by_requester))
    }

    /// What this requester uses.
    #[must_use]
    pub fn by(&self, requester: &ClusterId) -> Resources {
        self.0.get(requester).copied().unwrap_or_default()
    }

    /// Every entry, in order of the requester.
    pub fn iter(&self) -> impl Iterator<Item = (&ClusterId, Resources)> {
        self.0.iter().map(|(requester, amount)| (requester, *amount))
    }
}

/// A promise that a provider says it keeps: what the ledger is rebuilt from after a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The reservation.
    pub reservation: ReservationId,
    /// Who was promised how much.
    pub ask: Ask,
    /// Until when; without it, while the requester is heard of.
    pub expires_at: Option<Timestamp>,
}

impl Advertisement {
    /// Whether it says the same, whenever it was said.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { name, timestamp: _, order: _, capacity, allocatable, allocated, .. } = self;
        let Self { consumed, cost, labels, endpoint, .. } = self;
        *name == other.name
            && *capacity == other.capacity
            && *allocatable == other.allocatable
            && *allocated == other.allocated
            && *consumed == other.consumed
            && *cost == other.cost
            && *labels == other.labels
            && *endpoint == other.endpoint
    }

    /// Whether it may replace `kept`, which arrived `age` ago.
    ///
    /// Epoch and sequence decide alone where both sides have them. Otherwise timestamps do: they have
    /// whole seconds, so that equal ones both count, and they come from a clock that may be set back.
    #[must_use]
    pub fn may_replace(&self, kept: &Self, age: Duration) -> bool {
        match (self.order, kept.order) {
            (Some(order), Some(kept)) => order >= kept,
            (Some(_), None) => true,
            (None, _) => self.timestamp >= kept.timestamp || age > CLOCK_SET_BACK_AFTER,
        }
    }
}
