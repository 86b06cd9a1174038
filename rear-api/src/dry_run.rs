//! A dry run: who would get a request and why, without anything being locked.

use rear_engine::place::rank::Ranked;
use rear_engine::place::score::Parts;
use rear_engine::{Dimension, Position, Ranking};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::body::only_objects;
use crate::problem::{Names, Obstacle};

/// The answer to `POST /api/v1/reservations?dryRun=true`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRun {
    /// Who would get it; `null` when nobody fits.
    pub target: Option<String>,
    /// The state that this was found in.
    pub revision: String,
    /// The clusters that fit, best first, then the closest of those that do not.
    pub candidates: Vec<Candidate>,
}

/// One cluster in a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Candidate {
    /// It fits.
    Fitting(Fitting),
    /// It does not.
    Lacking(Lacking),
}

/// A cluster that fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fitting {
    /// Which cluster; absent where the operator has names left out and it is not the target.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// `true`.
    #[cfg_attr(feature = "openapi", schema(value_type = bool))]
    pub fits: Always<true>,
    /// Its score, `0.00` to `100.00`.
    pub score: String,
    /// The parts of its score.
    pub parts: ScoreParts,
}

/// A cluster that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lacking {
    /// `false`.
    #[cfg_attr(feature = "openapi", schema(value_type = bool))]
    pub fits: Always<false>,
    /// What is missing.
    #[serde(flatten)]
    pub obstacle: Obstacle,
}

/// The parts of a score, each `0.00` to `100.00`, in the dimensions that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScoreParts {
    /// Room for CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Room for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Room for GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Room for storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// How cheap it is among those that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

only_objects!(DryRun, Fitting, ScoreParts);

impl DryRun {
    /// How a ranking is shown.
    #[must_use]
    pub fn of(ranking: &Ranking, revision: Position, names: Names) -> Self {
        let Ranking { target, fitting, others } = ranking;
        let fitting = fitting.iter().map(|ranked| {
            let told = names == Names::Shown || target.as_ref() == Some(&ranked.cluster);
            Candidate::Fitting(Fitting::of(ranked, told))
        });
        let others = others.iter().map(|obstacle| {
            Candidate::Lacking(Lacking { fits: Always, obstacle: Obstacle::of(obstacle, names) })
        });
        Self {
            target: target.as_ref().map(ToString::to_string),
            revision: revision.to_string(),
            candidates: fitting.chain(others).collect(),
        }
    }
}

impl Fitting {
    fn of(ranked: &Ranked, with_name: bool) -> Self {
        Self {
            cluster_id: with_name.then(|| ranked.cluster.to_string()),
            fits: Always,
            score: ranked.score.to_string(),
            parts: ScoreParts::from(&ranked.parts),
        }
    }
}

impl From<&Parts> for ScoreParts {
    fn from(parts: &Parts) -> Self {
        let room = |dimension: Dimension| parts.room[dimension.index()].map(|s| s.to_string());
        Self {
            cpu: room(Dimension::Cpu),
            memory: room(Dimension::Memory),
            gpu: room(Dimension::Gpu),
            storage: room(Dimension::Storage),
            cost: parts.cost.map(|score| score.to_string()),
        }
    }
}

/// A member that says one thing only, so that one shape of a candidate is not taken for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Always<const VALUE: bool>;

impl<const VALUE: bool> Serialize for Always<VALUE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(VALUE)
    }
}

impl<'de, const VALUE: bool> Deserialize<'de> for Always<VALUE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? == VALUE {
            Ok(Self)
        } else {
            Err(D::Error::custom(format_args!("expected {VALUE}")))
        }
    }
}
