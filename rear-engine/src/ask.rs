//! What a requester wants, parsed once: after this, nothing is checked again.

use thiserror::Error;

use crate::duration::Duration;
use crate::id::ClusterId;
use crate::labels::Labels;
use crate::price::PriceCeiling;
use crate::resources::{Dimension, Resources};

/// A promise shorter than this is over before anyone is told.
pub const MIN_DURATION: Duration = Duration::from_seconds(1);

/// A leap year: longer promises are renewed.
pub const MAX_DURATION: Duration = Duration::from_seconds(366 * 24 * 60 * 60);

/// A request for capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    requester: ClusterId,
    resources: Resources,
    terms: Terms,
}

/// Everything about a request that has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// Among requests that wait together, higher goes first.
    pub priority: i32,
    /// For how long; without it, while the requester is heard of.
    pub duration: Option<Duration>,
    /// Only this cluster.
    pub target: Option<ClusterId>,
    /// How to choose; the broker's way when absent.
    pub strategy: Option<Strategy>,
    /// Labels that the provider must have.
    pub required: Labels,
    /// Labels that the provider should have: more of them come before a higher score.
    pub preferred: Labels,
    /// The most that it may cost.
    pub ceiling: Option<PriceCeiling>,
}

/// How a provider is chosen among those that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// Where the largest share stays free.
    #[default]
    Headroom,
    /// Headroom, with cost as a part of it.
    Balanced,
    /// Where it costs least.
    Cheapest,
    /// Where the smallest share stays free.
    Binpack,
}

/// Why a request is not an ask.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AskError {
    /// CPU and memory are always needed to run anything.
    #[error("requested {0} must be greater than 0")]
    NotPositive(Dimension),
    /// Outside [`MIN_DURATION`] to [`MAX_DURATION`].
    #[error("a duration is between {MIN_DURATION} and {MAX_DURATION}")]
    Duration,
}

impl Ask {
    /// Checks a request.
    pub fn new(requester: ClusterId, resources: Resources, terms: Terms) -> Result<Self, AskError> {
        for dimension in [Dimension::Cpu, Dimension::Memory] {
            if resources.get(dimension) == 0 {
                return Err(AskError::NotPositive(dimension));
            }
        }
        if terms.duration.is_some_and(|length| !(MIN_DURATION..=MAX_DURATION).contains(&length)) {
            return Err(AskError::Duration);
        }
        Ok(Self { requester, resources, terms })
    }

    /// Who asks.
    #[must_use]
    pub fn requester(&self) -> &ClusterId {
        &self.requester
    }

    /// How much.
    #[must_use]
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// On what terms.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The dimensions that count in the score: CPU and memory always, GPU and storage when requested.
    pub fn dimensions(&self) -> impl Iterator<Item = Dimension> + use<> {
        let resources = self.resources;
        Dimension::ALL.into_iter().filter(move |&dimension| resources.get(dimension) > 0)
    }
}

impl Strategy {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headroom => "headroom",
            Self::Balanced => "balanced",
            Self::Cheapest => "cheapest",
            Self::Binpack => "binpack",
        }
    }

    /// Whether prices are part of it.
    #[must_use]
    pub const fn counts_cost(self) -> bool {
        match self {
            Self::Balanced | Self::Cheapest => true,
            Self::Headroom | Self::Binpack => false,
        }
    }

    /// Every strategy.
    pub const ALL: [Self; 4] = [Self::Headroom, Self::Balanced, Self::Cheapest, Self::Binpack];
}

/// A name that is no strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown strategy: use headroom, balanced, cheapest or binpack")]
pub struct UnknownStrategy;

impl std::str::FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == text).ok_or(UnknownStrategy)
    }
}
