//! What this cluster keeps aside for another.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rear_api::resources::{Condition, schema};

/// Another cluster was promised capacity of this one: keep it aside. The agent writes it.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[kube(
    group = "rear.fluidos.eu",
    version = "v1alpha1",
    kind = "ProviderInstruction",
    namespaced,
    status = "ProviderInstructionStatus",
    shortname = "pi",
    doc = "Another cluster was promised capacity of this one: keep it aside. The agent writes it.",
    printcolumn(name = "Reservation", type_ = "string", json_path = ".spec.reservationName"),
    printcolumn(name = "Requester", type_ = "string", json_path = ".spec.requesterClusterID"),
    printcolumn(name = "CPU", type_ = "string", json_path = ".spec.requestedCPU"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.requestedMemory")
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstructionSpec {
    /// The name that the requester's user gave the reservation, if that is known; else its id.
    pub reservation_name: String,
    /// The reservation's id, if its name is another.
    #[serde(rename = "reservationID", default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// For whom.
    #[serde(rename = "requesterClusterID")]
    pub requester_cluster_id: String,
    /// Cores.
    #[serde(rename = "requestedCPU")]
    #[schemars(schema_with = "schema::quantity_text")]
    pub requested_cpu: String,
    /// Bytes.
    #[schemars(schema_with = "schema::quantity_text")]
    pub requested_memory: String,
    /// Devices.
    #[serde(rename = "requestedGPU", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity_text")]
    pub requested_gpu: Option<String>,
    /// Bytes of ephemeral storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity_text")]
    pub requested_storage: Option<String>,
    /// What to do, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it ends by itself (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// What became of it.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstructionStatus {
    /// Whether it counts as reserved in what this cluster says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforced: Option<bool>,
    /// When the status last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// The generation that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Enforced`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
