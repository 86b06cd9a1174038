//! From what was refused to the error document: the one place where a refusal gets a status.

use rear_engine::ledger::LedgerError;
use rear_engine::{NoRoom, Reason, Refusal};
use serde::{Deserialize, Serialize};

use super::{Code, Problem};
use crate::amounts::QuantityText;
use crate::body::{BodyError, Invalid, only_objects};

/// Whether requesters are told the names of clusters that they do not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// They are.
    #[default]
    Shown,
    /// The operator wants them left out.
    LeftOut,
}

/// What is missing on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Obstacle {
    /// Which cluster; absent where the operator has names left out.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// The first reason, as a stable word.
    pub reason: String,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The dimension that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<String>,
    /// How much of it is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<QuantityText>,
    /// How much of it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<QuantityText>,
}

only_objects!(Obstacle);

impl Obstacle {
    /// How an obstacle is shown.
    #[must_use]
    pub fn of(obstacle: &rear_engine::Obstacle, names: Names) -> Self {
        let lacks = match &obstacle.reason {
            Reason::Lacks { dimension, requested, available } => {
                Some((*dimension, *requested, *available))
            }
            Reason::Unknown
            | Reason::Own
            | Reason::Recovering
            | Reason::Stale
            | Reason::Overcommitted
            | Reason::LacksLabel { .. }
            | Reason::Unpriced(_)
            | Reason::TooExpensive { .. } => None,
        };
        Self {
            cluster_id: (names == Names::Shown).then(|| obstacle.cluster.to_string()),
            reason: obstacle.reason.code().to_owned(),
            detail: Some(obstacle.reason.to_string()),
            dimension: lacks.map(|(dimension, ..)| dimension.to_string()),
            requested: lacks.map(|(dimension, needed, _)| QuantityText::of(dimension, needed)),
            available: lacks.map(|(dimension, _, free)| QuantityText::of(dimension, free)),
        }
    }
}

impl Problem {
    /// The document for a refusal.
    ///
    /// ```
    /// use rear_api::problem::{Code, Names, Problem};
    /// use rear_engine::Refusal;
    ///
    /// let problem = Problem::refused(&Refusal::EndHasPassed, Names::Shown);
    /// assert_eq!((problem.status, problem.known_code()), (422, Some(Code::EndHasPassed)));
    /// assert_eq!(problem.error, "the new end must lie in the future");
    /// ```
    #[must_use]
    pub fn refused(refusal: &Refusal, names: Names) -> Self {
        let code = code_of_refusal(refusal);
        let Refusal::NoRoom(no_room) = refusal else {
            return Self::new(code, refusal.to_string());
        };
        let shown = |obstacle| Obstacle::of(obstacle, names);
        let candidates = no_room.candidates.iter().map(shown).collect();
        Self { candidates: Some(candidates), ..Self::new(code, no_room_text(no_room, names)) }
    }
}

fn no_room_text(no_room: &NoRoom, names: Names) -> String {
    match (names, no_room.candidates.first()) {
        (Names::Shown, _) | (_, None) => no_room.to_string(),
        (Names::LeftOut, Some(closest)) => {
            format!("no cluster fits; the closest one {}", closest.reason)
        }
    }
}

/// The kind of problem that a refusal is.
#[must_use]
pub const fn code_of_refusal(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::UnknownReservation(_) => Code::UnknownReservation,
        Refusal::UnknownCluster(_) => Code::UnknownCluster,
        Refusal::NotAllowed { .. } => Code::NotAllowed,
        Refusal::KeyReused(_) => Code::KeyReused,
        Refusal::IdTaken(_) => Code::IdTaken,
        Refusal::TooManyReservations { .. } => Code::TooManyReservations,
        Refusal::ConsumedBeyondAllocated { .. } => Code::ConsumedBeyondAllocated,
        Refusal::Outdated { .. } => Code::Outdated,
        Refusal::AlreadyEnded(_) => Code::AlreadyEnded,
        Refusal::TooLong(_) => Code::TooLong,
        Refusal::EndHasPassed => Code::EndHasPassed,
        Refusal::ProviderStale(_) | Refusal::ProviderRecovering(_) => Code::ProviderStale,
        Refusal::ProviderOvercommitted(_) => Code::ProviderOvercommitted,
        Refusal::Ledger { source: LedgerError::Overflow, .. } => Code::LedgerFull,
        // More given back than promised: not the caller's mistake.
        Refusal::Ledger { source: LedgerError::Underflow, .. } => Code::Internal,
        Refusal::NoRoom(_) => Code::NoRoom,
    }
}

/// The kind of problem that a body is.
#[must_use]
pub const fn code_of_body(error: &BodyError) -> Code {
    match error {
        BodyError::TooLarge => Code::TooLarge,
        BodyError::Unreadable(_) => Code::Unreadable,
        BodyError::Invalid(_) => Code::Invalid,
    }
}

impl From<&BodyError> for Problem {
    fn from(error: &BodyError) -> Self {
        Self::new(code_of_body(error), error.to_string())
    }
}

impl From<&Invalid> for Problem {
    fn from(error: &Invalid) -> Self {
        Self::new(Code::Invalid, error.to_string())
    }
}
