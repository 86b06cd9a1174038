//! What this cluster says of itself, for the people in it.

use kube::CustomResource;
use rear_agent_sdk::Resources;
use rear_api::amounts::{QuantityText, ResourceList};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rear_api::resources::{Condition, schema};

/// What this cluster says of itself. The agent writes it.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[kube(
    group = "rear.fluidos.eu",
    version = "v1alpha1",
    kind = "Advertisement",
    namespaced,
    status = "AdvertisementStatus",
    shortname = "adv",
    doc = "What this cluster says of itself. The agent writes it.",
    printcolumn(name = "ClusterID", type_ = "string", json_path = ".spec.clusterID"),
    printcolumn(
        name = "Allocatable-CPU",
        type_ = "string",
        json_path = ".spec.resources.allocatable.cpu"
    ),
    printcolumn(
        name = "Available-CPU",
        type_ = "string",
        json_path = ".spec.resources.available.cpu"
    ),
    printcolumn(
        name = "Allocatable-Mem",
        type_ = "string",
        json_path = ".spec.resources.allocatable.memory"
    ),
    printcolumn(
        name = "Available-Mem",
        type_ = "string",
        json_path = ".spec.resources.available.memory"
    ),
    printcolumn(name = "Published", type_ = "boolean", json_path = ".status.published"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AdvertisementSpec {
    /// Which cluster this is, as the broker knows it.
    #[serde(rename = "clusterID")]
    #[schemars(length(min = 1, max = 63))]
    pub cluster_id: String,
    /// When it was so (RFC 3339).
    pub timestamp: String,
    /// What it has.
    pub resources: OwnResources,
    /// What it charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostTexts>,
}

/// What this cluster has.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OwnResources {
    /// All of its nodes that count.
    pub capacity: AmountsOf,
    /// What pods may have of it.
    pub allocatable: AmountsOf,
    /// What pods ask for.
    pub allocated: AmountsOf,
    /// What is left: allocatable, less allocated, less what is reserved and not yet used by those who reserved it.
    #[schemars(schema_with = "schema::balances")]
    pub available: AmountsOf,
    /// What is kept aside for other clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_balances")]
    pub reserved: Option<AmountsOf>,
    /// Of the earlier system; not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_balances")]
    pub used: Option<AmountsOf>,
}

/// An amount of each resource.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
pub struct AmountsOf {
    /// Cores.
    #[schemars(schema_with = "schema::quantity")]
    pub cpu: QuantityText,
    /// Bytes.
    #[schemars(schema_with = "schema::quantity")]
    pub memory: QuantityText,
    /// Devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity")]
    pub gpu: Option<QuantityText>,
    /// Bytes of ephemeral storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_quantity")]
    pub storage: Option<QuantityText>,
}

impl From<Resources> for AmountsOf {
    /// GPU and storage where there are any.
    fn from(resources: Resources) -> Self {
        let ResourceList { cpu, memory, gpu, storage } = resources.into();
        Self { cpu, memory, gpu, storage }
    }
}

/// Decimal texts, for an hour of a core, a GiB and a device.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CostTexts {
    /// For a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_cost: Option<String>,
    /// For a GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_cost: Option<String>,
    /// For a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_cost: Option<String>,
    /// In which currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// How far the advertisement came.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct AdvertisementStatus {
    /// `Active` when the broker has it, `Pending` before, `Local` without a broker, `Failed` when it could not be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Whether the broker has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<bool>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the above last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// The generation that the above is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Published`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
