//! What a user of this cluster wants from others.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rear_api::resources::{Condition, schema};

/// A wish for capacity in another cluster. A user writes it; the agent answers in its status.
#[derive(
    CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default,
)]
#[kube(
    group = "rear.fluidos.eu",
    version = "v1alpha1",
    kind = "ResourceRequest",
    namespaced,
    status = "ResourceRequestStatus",
    shortname = "rr",
    doc = "A wish for capacity in another cluster. A user writes it; the agent answers in its status.",
    printcolumn(name = "CPU", type_ = "string", json_path = ".spec.requestedCPU"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.requestedMemory"),
    printcolumn(name = "Target", type_ = "string", json_path = ".status.targetClusterID"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequestSpec {
    /// Cores, such as `500m`.
    #[serde(rename = "requestedCPU")]
    #[schemars(schema_with = "schema::positive_quantity")]
    pub requested_cpu: String,
    /// Bytes, such as `256Mi`.
    #[schemars(schema_with = "schema::positive_quantity")]
    pub requested_memory: String,
    /// Devices.
    #[serde(rename = "requestedGPU", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity_text")]
    pub requested_gpu: Option<String>,
    /// Bytes of ephemeral storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity_text")]
    pub requested_storage: Option<String>,
    /// Among requests that wait together, higher goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// For how long, such as `1h30m`; while the request exists, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_duration")]
    pub duration: Option<String>,
    /// How long to try again when nobody has room, such as `10m`; not at all, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_duration")]
    pub wait_for: Option<String>,
}

/// What became of it.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequestStatus {
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<RequestPhase>,
    /// Who keeps the capacity aside.
    #[serde(rename = "targetClusterID", skip_serializing_if = "Option::is_none")]
    pub target_cluster_id: Option<String>,
    /// The reservation's id, which is also the name of its `ReservationInstruction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation_name: Option<String>,
    /// When the reservation ends by itself (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// What to do, or why not, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the above last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// The generation that the above is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Reserved`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// How far a request is.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPhase {
    /// Not answered yet, or waiting for room.
    Pending,
    /// The capacity is kept aside.
    Reserved,
    /// The reservation has ended as agreed.
    Released,
    /// Refused, or the reservation could not be kept.
    Failed,
}

impl RequestPhase {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Reserved => "Reserved",
            Self::Released => "Released",
            Self::Failed => "Failed",
        }
    }
}
