//! A reservation as both sides see it. Members that are not known are ignored: brokers are older and newer.

use rear_engine::reservation::{Ending, Failed, Phase, Released};
use serde::{Deserialize, Serialize};

use crate::amounts::ResourceList;
use crate::body::only_objects;
use crate::instruction;
use crate::moment;

/// A promise of capacity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reservation {
    /// Its name, for ever.
    pub id: String,
    /// The name that a user gave it, where it is a resource of Kubernetes and known as one. It is not on the wire.
    #[serde(skip)]
    pub name: Option<String>,
    /// Who was promised.
    #[serde(rename = "requesterID")]
    pub requester_id: String,
    /// Who keeps the capacity aside.
    #[serde(rename = "targetClusterID")]
    pub target_cluster_id: String,
    /// How much.
    pub requested_resources: ResourceList,
    /// As asked; 0 from a broker of the earlier system, which does not say.
    #[serde(default)]
    pub priority: i32,
    /// For how long, as asked, in Go's syntax.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// When it was asked and decided (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// How far it has come.
    pub status: ReservationStatus,
}

/// How far a reservation has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReservationStatus {
    /// Its phase. In an instruction it reads `Reserved` while the reservation lives.
    pub phase: PhaseName,
    /// In an instruction, the true phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation_phase: Option<PhaseName>,
    /// What to do, or how it ended, for people.
    #[serde(default)]
    pub message: String,
    /// When the capacity was locked (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<String>,
    /// When it ends by itself (RFC 3339); absent when it lasts while the requester is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// The name of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhaseName {
    /// Not decided yet: only reservations that are resources of Kubernetes.
    Pending,
    /// The capacity is locked.
    Reserved,
    /// The requester uses it.
    Active,
    /// Given back as agreed.
    Released,
    /// Given back because it could not be kept.
    Failed,
    /// A word of a broker that knows more.
    #[serde(untagged)]
    Other(String),
}

only_objects!(Reservation, ReservationStatus);

impl PhaseName {
    /// Its name on the wire.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Pending => "Pending",
            Self::Reserved => "Reserved",
            Self::Active => "Active",
            Self::Released => "Released",
            Self::Failed => "Failed",
            Self::Other(word) => word,
        }
    }
}

impl From<&Phase> for PhaseName {
    fn from(phase: &Phase) -> Self {
        match phase {
            Phase::Reserved(_) => Self::Reserved,
            Phase::Active(_) => Self::Active,
            Phase::Released(_) => Self::Released,
            Phase::Failed(_) => Self::Failed,
        }
    }
}

impl From<&rear_engine::Reservation> for Reservation {
    fn from(reservation: &rear_engine::Reservation) -> Self {
        let terms = reservation.ask.terms();
        let decided_at = moment::text(reservation.reserved_at);
        Self {
            id: reservation.id.to_string(),
            name: None,
            requester_id: reservation.requester().as_str().to_owned(),
            target_cluster_id: reservation.provider.as_str().to_owned(),
            requested_resources: reservation.ask.resources().into(),
            priority: terms.priority,
            duration: terms.duration.map(|length| length.to_string()),
            created_at: Some(decided_at.clone()),
            status: ReservationStatus {
                phase: (&reservation.phase).into(),
                reservation_phase: None,
                message: message(reservation),
                reserved_at: Some(decided_at),
                expires_at: reservation.expires_at.map(moment::text),
            },
        }
    }
}

fn message(reservation: &rear_engine::Reservation) -> String {
    match &reservation.phase {
        Phase::Reserved(_) | Phase::Active(_) => instruction::use_message(reservation),
        Phase::Released(Released { why, .. }) => Ending::Released(*why).to_string(),
        Phase::Failed(Failed { why, .. }) => Ending::Failed(why.clone()).to_string(),
    }
}

/// A derived schema cannot say "one of these, or another text".
#[cfg(feature = "openapi")]
mod schema {
    use utoipa::openapi::RefOr;
    use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
    use utoipa::{PartialSchema, ToSchema};

    use super::PhaseName;

    impl PartialSchema for PhaseName {
        fn schema() -> RefOr<Schema> {
            let names = ["Pending", "Reserved", "Active", "Released", "Failed"];
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
        }
    }

    impl ToSchema for PhaseName {}
}
