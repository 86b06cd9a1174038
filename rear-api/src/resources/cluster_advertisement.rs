//! What a cluster says of itself, as a resource; and how the broker sees it.

use std::collections::BTreeMap;

use kube::CustomResource;
use rear_engine::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::Condition;
use super::{Amounts, schema};
use crate::advertisement::{
    Advertisement, AdvertisementRequest, ClusterStatus, Consumption, CostBody, HoldingBody,
    OfferedResources, ShownResources,
};
use crate::amounts::{QuantityText, ResourceList};
use crate::labels::LabelTexts;
use crate::moment;

/// What a cluster can lend. Its agent writes it; the broker adds what is reserved, what is available, and the status.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[kube(
    group = "broker.fluidos.eu",
    version = "v1alpha1",
    kind = "ClusterAdvertisement",
    namespaced,
    status = "ClusterAdvertisementStatus",
    shortname = "cadv",
    doc = "What a cluster can lend. Its agent writes it; the broker adds what is reserved, what is available, and the status.",
    printcolumn(name = "ClusterID", type_ = "string", json_path = ".spec.clusterID"),
    printcolumn(
        name = "Available-CPU",
        type_ = "string",
        json_path = ".spec.resources.available.cpu"
    ),
    printcolumn(
        name = "Available-Memory",
        type_ = "string",
        json_path = ".spec.resources.available.memory"
    ),
    printcolumn(name = "Score", type_ = "string", json_path = ".status.score"),
    printcolumn(name = "Active", type_ = "boolean", json_path = ".status.active"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAdvertisementSpec {
    /// Which cluster; in a namespace that is bound to one, that one.
    #[serde(rename = "clusterID")]
    #[schemars(length(min = 1, max = 63))]
    pub cluster_id: String,
    /// A name for people; the id if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// When it was so (RFC 3339); when it was written, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where the cluster's own API is found.
    #[serde(rename = "endpointURL", skip_serializing_if = "Option::is_none")]
    pub endpoint_url: Option<String>,
    /// What it has.
    pub resources: AdvertisedResources,
    /// What it charges for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostTexts>,
    /// Properties to select it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// The part of `allocated` that others' offloaded workloads use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Vec<ConsumedAmounts>>,
    /// What it keeps aside as a provider, also when that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<Vec<HeldPromise>>,
    /// The start of the agent that writes it: one more than the broker showed by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", extend("x-kubernetes-validations" = [{ "rule": "self >= 0", "message": "must be greater than or equal to 0" }]))]
    pub epoch: Option<u64>,
    /// Counts up from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", extend("x-kubernetes-validations" = [{ "rule": "self >= 0", "message": "must be greater than or equal to 0" }]))]
    pub sequence: Option<u64>,
}

/// What a cluster has.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AdvertisedResources {
    /// All that the machines have.
    pub capacity: Amounts,
    /// What workloads may use of it; all of it, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<Amounts>,
    /// What workloads have asked for; nothing, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Amounts>,
    /// The sum of the live promises, from the broker's ledger. The broker writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_balances")]
    pub reserved: Option<Amounts>,
    /// What is left. The broker writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_balances")]
    pub available: Option<Amounts>,
}

/// Decimal texts, for an hour of a core, a GiB and a device.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CostTexts {
    /// For a core.
    #[serde(default)]
    pub cpu_cost: String,
    /// For a GiB of memory.
    #[serde(default)]
    pub memory_cost: String,
    /// For a device; free if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_cost: Option<String>,
    /// In which currency.
    #[serde(default)]
    pub currency: String,
}

/// What one requester's offloaded workloads use.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
pub struct ConsumedAmounts {
    /// Whose workloads.
    #[serde(rename = "requesterID")]
    pub requester_id: String,
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

/// A promise that the cluster keeps as a provider.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HeldPromise {
    /// The reservation's id in the ledger.
    #[serde(rename = "reservationID")]
    pub reservation_id: String,
    /// Who was promised.
    #[serde(rename = "requesterID")]
    pub requester_id: String,
    /// How much.
    pub resources: Amounts,
    /// Until when (RFC 3339); without it, while the requester is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// How the broker sees a cluster. The broker writes it.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAdvertisementStatus {
    /// Whether it can get new promises: its advertisement is recent enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// `Active`, or `Inactive` when it has not advertised for too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The share that is free, `0.00` to `100.00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<String>,
    /// How it stands, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the status last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// The generation that the broker has looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Why the last advertisement does not count, as a stable word; absent when it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The start of the agent that is listened to; an agent that starts takes the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", extend("x-kubernetes-validations" = [{ "rule": "self >= 0", "message": "must be greater than or equal to 0" }]))]
    pub epoch: Option<u64>,
    /// When the last advertisement that counts came, by the broker's clock (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_at: Option<String>,
    /// The ledger that this is from, and how far it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// `Ready`, `Stale`, `Overcommitted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl ClusterAdvertisementSpec {
    /// The body that says the same. What is absent is what manifests of the earlier system mean by that; without a
    /// timestamp it was so when it was written.
    #[must_use]
    pub fn request(&self, written_at: Timestamp) -> AdvertisementRequest {
        let AdvertisedResources { capacity, allocatable, allocated, reserved: _, available: _ } =
            self.resources.clone();
        AdvertisementRequest {
            cluster_id: self.cluster_id.clone(),
            cluster_name: self.cluster_name.clone(),
            timestamp: self.timestamp.clone().unwrap_or_else(|| moment::text(written_at)),
            resources: OfferedResources {
                allocatable: allocatable.unwrap_or_else(|| capacity.clone()).into(),
                allocated: allocated.unwrap_or_else(Amounts::none).into(),
                capacity: capacity.into(),
                reserved: None,
                available: None,
            },
            cost: self.cost.clone().and_then(CostTexts::told),
            labels: self.labels.clone().map(LabelTexts),
            endpoint_url: self.endpoint_url.clone(),
            consumed: self.consumed.clone().map(|all| all.into_iter().map(Into::into).collect()),
            holding: self.holding.clone().map(|all| all.into_iter().map(Into::into).collect()),
            epoch: self.epoch,
            sequence: self.sequence,
        }
    }

    /// The object's part of an agent: without what the broker writes.
    #[must_use]
    pub fn telling(request: &AdvertisementRequest) -> Self {
        let request = request.clone();
        let OfferedResources { capacity, allocatable, allocated, reserved: _, available: _ } =
            request.resources;
        Self {
            cluster_id: request.cluster_id,
            cluster_name: request.cluster_name,
            timestamp: Some(request.timestamp),
            endpoint_url: request.endpoint_url,
            resources: AdvertisedResources {
                capacity: capacity.into(),
                allocatable: Some(allocatable.into()),
                allocated: Some(allocated.into()),
                reserved: None,
                available: None,
            },
            cost: request.cost.map(CostTexts::from),
            labels: request.labels.map(|LabelTexts(labels)| labels),
            consumed: request.consumed.map(|all| all.into_iter().map(Into::into).collect()),
            holding: request.holding.map(|all| all.into_iter().map(Into::into).collect()),
            epoch: request.epoch,
            sequence: request.sequence,
        }
    }
}

impl ClusterAdvertisement {
    /// How the broker shows the cluster, from the object alone; nothing while no broker has looked at it.
    #[must_use]
    pub fn shown(&self) -> Option<Advertisement> {
        let (spec, status) = (self.spec.clone(), self.status.as_ref()?);
        let told = self.spec.request(Timestamp::from_seconds(0));
        Some(Advertisement {
            cluster_name: spec.cluster_name.unwrap_or_else(|| spec.cluster_id.clone()),
            cluster_id: spec.cluster_id,
            timestamp: told.timestamp,
            resources: ShownResources {
                capacity: told.resources.capacity,
                allocatable: told.resources.allocatable,
                allocated: told.resources.allocated,
                reserved: spec.resources.reserved.map(ResourceList::from),
                available: spec.resources.available.unwrap_or_else(Amounts::none).into(),
            },
            cost: told.cost,
            labels: told.labels,
            endpoint_url: told.endpoint_url,
            consumed: told.consumed,
            epoch: status.epoch,
            sequence: spec.sequence,
            status: status.active.map(|active| ClusterStatus {
                active,
                score: status.score.clone().unwrap_or_default(),
                overcommitted: super::is_true(&status.conditions, super::names::OVERCOMMITTED),
                recovering: false,
                received_at: status.received_at.clone().unwrap_or_default(),
            }),
        })
    }
}

impl ClusterAdvertisementStatus {
    /// How a cluster stands, from the answer that the HTTP API would give, with the conditions that were there.
    #[must_use]
    pub fn of(shown: &Advertisement, conditions: Vec<Condition>) -> Self {
        let status = shown.status.as_ref();
        let active = status.is_some_and(|status| status.active);
        Self {
            active: Some(active),
            phase: Some(if active { "Active" } else { "Inactive" }.to_owned()),
            score: status.map(|status| status.score.clone()),
            epoch: shown.epoch,
            received_at: status.map(|status| status.received_at.clone()),
            conditions,
            ..Self::default()
        }
    }

    /// Whether it says the same, whenever and from however far a ledger.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let said = |status: &Self| Self { last_update_time: None, ledger: None, ..status.clone() };
        said(self) == said(other)
    }
}

impl CostTexts {
    /// What it means on the wire. Manifests of the earlier system may leave anything out: what has no price is free, and
    /// prices in no currency are none.
    fn told(self) -> Option<CostBody> {
        let Self { cpu_cost, memory_cost, gpu_cost, currency } = self;
        let names_a_price = !cpu_cost.is_empty() || !memory_cost.is_empty() || gpu_cost.is_some();
        let or_free = |text: String| if text.is_empty() { "0".to_owned() } else { text };
        (names_a_price && !currency.is_empty()).then(|| CostBody {
            cpu_cost: or_free(cpu_cost),
            memory_cost: or_free(memory_cost),
            gpu_cost,
            currency,
        })
    }
}

impl From<CostBody> for CostTexts {
    fn from(cost: CostBody) -> Self {
        let CostBody { cpu_cost, memory_cost, gpu_cost, currency } = cost;
        Self { cpu_cost, memory_cost, gpu_cost, currency }
    }
}

impl From<ConsumedAmounts> for Consumption {
    fn from(consumed: ConsumedAmounts) -> Self {
        let ConsumedAmounts { requester_id, cpu, memory, gpu, storage } = consumed;
        Self { requester_id, cpu, memory, gpu, storage }
    }
}

impl From<Consumption> for ConsumedAmounts {
    fn from(consumed: Consumption) -> Self {
        let Consumption { requester_id, cpu, memory, gpu, storage } = consumed;
        Self { requester_id, cpu, memory, gpu, storage }
    }
}

impl From<HeldPromise> for HoldingBody {
    fn from(held: HeldPromise) -> Self {
        let HeldPromise { reservation_id, requester_id, resources, expires_at } = held;
        Self { reservation_id, requester_id, resources: resources.into(), expires_at }
    }
}

impl From<HoldingBody> for HeldPromise {
    fn from(held: HoldingBody) -> Self {
        let HoldingBody { reservation_id, requester_id, resources, expires_at } = held;
        Self { reservation_id, requester_id, resources: resources.into(), expires_at }
    }
}
