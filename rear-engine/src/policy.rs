//! What an operator decides for the whole fleet: weights, strategy, limits of time.

use thiserror::Error;

use crate::ask::{MAX_DURATION, MIN_DURATION, Strategy};
use crate::duration::Duration;
use crate::price::Currency;
use crate::resources::{DIMENSIONS, Dimension};

/// Larger weights say nothing that smaller ones cannot, and sums of scores stay far within 64 bits.
pub const MAX_WEIGHT: u32 = 1000;

/// Whoever lost an answer may ask again under the same key for at least this long.
pub const MIN_REMEMBERED: Duration = Duration::from_seconds(24 * 60 * 60);

/// How exactly it is remembered when a requester gave its last sign of life, at least.
const MOST_INEXACT: Duration = Duration::from_seconds(60);

/// Agents pause for up to half a minute before they try again, more than once where others come back at the same time.
const COMING_BACK: Duration = Duration::from_seconds(2 * 60);

/// The operator's rules. `Policy::default()` is what DESIGN prescribes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How much each dimension counts in the score.
    pub weights: Weights,
    /// How to choose when a request does not say.
    pub strategy: Strategy,
    /// How much cost counts under [`Strategy::Balanced`].
    pub cost_share: Percent,
    /// The currency in which prices are compared when a request names none.
    pub currency: Option<Currency>,
    /// An advertisement older than this makes a cluster inactive.
    pub stale_after: Duration,
    /// Reservations without an end are released this long after the last sign of their requester.
    pub requester_gone_after: Duration,
    /// The duration of a request that names none.
    pub default_duration: Option<Duration>,
    /// The longest duration that is granted.
    pub max_duration: Option<Duration>,
    /// How long a reservation is remembered after its end; see [`Policy::remembered_for`].
    pub ended_kept_for: Duration,
    /// How many reservations one requester may have, live or ended and remembered: each takes memory, for as long as it is
    /// remembered.
    pub max_reservations: usize,
}

/// One in two seconds, day and night, as long as they are remembered; a few hundred megabytes.
const MAX_RESERVATIONS: usize = 250_000;

impl Default for Policy {
    fn default() -> Self {
        Self {
            weights: Weights::default(),
            strategy: Strategy::default(),
            cost_share: Percent(30),
            currency: None,
            stale_after: Duration::from_seconds(10 * 60),
            requester_gone_after: Duration::from_seconds(24 * 60 * 60),
            default_duration: None,
            max_duration: None,
            ended_kept_for: Duration::from_seconds(7 * 24 * 60 * 60),
            max_reservations: MAX_RESERVATIONS,
        }
    }
}

/// How much each dimension counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights([u32; DIMENSIONS]);

/// A share of a whole, 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

/// Why a rule was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// Above [`MAX_WEIGHT`].
    #[error("a weight is at most {MAX_WEIGHT}")]
    Weight,
    /// CPU and memory are in every score: with both at 0 there would be none.
    #[error("the weights of cpu and memory cannot both be 0")]
    NoWeight,
    /// Above 100.
    #[error("a share is between 0 and 100 percent")]
    Percent,
}

impl Default for Weights {
    fn default() -> Self {
        Self([1; DIMENSIONS])
    }
}

impl Weights {
    /// Weights in the order of [`Dimension::ALL`].
    pub fn new(weights: [u32; DIMENSIONS]) -> Result<Self, PolicyError> {
        if weights.iter().any(|&weight| weight > MAX_WEIGHT) {
            return Err(PolicyError::Weight);
        }
        let Self(checked) = Self(weights);
        if checked[Dimension::Cpu.index()] == 0 && checked[Dimension::Memory.index()] == 0 {
            return Err(PolicyError::NoWeight);
        }
        Ok(Self(weights))
    }

    /// The weight of one dimension.
    #[must_use]
    pub const fn get(self, dimension: Dimension) -> u32 {
        self.0[dimension.index()]
    }
}

impl Percent {
    /// A share of a whole.
    pub fn new(percent: u8) -> Result<Self, PolicyError> {
        if percent > 100 { Err(PolicyError::Percent) } else { Ok(Self(percent)) }
    }

    /// 0 to 100.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Policy {
    /// The duration that a request gets: its own, else the default, else the longest allowed.
    #[must_use]
    pub fn duration_for(&self, asked: Option<Duration>) -> Option<Duration> {
        let unasked = self.default_duration.or(self.max_duration);
        asked.or(unasked.map(|length| length.clamp(MIN_DURATION, self.longest_duration())))
    }

    /// The longest duration that is granted.
    #[must_use]
    pub fn longest_duration(&self) -> Duration {
        self.max_duration.unwrap_or(MAX_DURATION).clamp(MIN_DURATION, MAX_DURATION)
    }

    /// How long a reservation is remembered after its end, with its idempotency key: at least a day.
    #[must_use]
    pub fn remembered_for(&self) -> Duration {
        self.ended_kept_for.max(MIN_REMEMBERED)
    }

    /// An unchanged advertisement is made durable again only after this long.
    #[must_use]
    pub fn freshness_kept_for(&self) -> Duration {
        Duration::from_nanos(self.stale_after.as_nanos() / 5)
    }

    /// A sign of life of a requester is made durable again only after this long.
    #[must_use]
    pub fn presence_kept_for(&self) -> Duration {
        Duration::from_nanos(self.requester_gone_after.as_nanos() / 24)
    }

    /// Whoever was silent while the broker was away has this long to be heard of after its start, at least. Agents come
    /// back within minutes, however short the limit.
    #[must_use]
    pub fn grace_after_start(&self) -> Duration {
        self.presence_kept_for().max(self.requester_gone_after.min(COMING_BACK))
    }

    /// A sign of life of a requester that comes this soon after another need not be remembered.
    #[must_use]
    pub fn presence_exact_to(&self) -> Duration {
        Duration::from_nanos(self.requester_gone_after.as_nanos() / 1000).min(MOST_INEXACT)
    }
}
