//! A node, as far as it counts: only these fields of the object are kept in memory, and only while it is read.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use rear_agent_sdk::Resources;
use serde::{Deserialize, Serialize};

use super::amounts::{ResourceList, Tracked, Uncountable};
use super::metadata::what_counts;

/// Liqo's nodes stand for other clusters: what they have is not here.
const VIRTUAL: (&str, &str) = ("liqo.io/type", "virtual-node");

/// The part of a node that is read.
#[derive(Resource, Serialize, Deserialize, Debug, Clone, Default)]
#[resource(inherit = Node)]
pub struct NodeView {
    /// Its name and labels.
    #[serde(default, deserialize_with = "what_counts")]
    pub metadata: ObjectMeta,
    /// What its operator says.
    #[serde(default)]
    pub spec: NodeSpec,
    /// What its kubelet says.
    #[serde(default)]
    pub status: NodeStatus,
}

/// What its operator says.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
pub struct NodeSpec {
    /// Cordoned: nothing new is placed on it.
    #[serde(default)]
    pub unschedulable: bool,
}

/// What its kubelet says.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
pub struct NodeStatus {
    /// All of the machine.
    #[serde(default)]
    pub capacity: ResourceList,
    /// What pods may have of it.
    #[serde(default)]
    pub allocatable: ResourceList,
    /// Of these, whether it is ready counts.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// A condition of a node or pod.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
pub struct Condition {
    /// Its name.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// A word for why.
    #[serde(default)]
    pub reason: String,
}

/// What a node brings to the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeFacts {
    /// Whether it stands for another cluster.
    pub is_virtual: bool,
    /// Whether it is ready and takes pods.
    pub takes_pods: bool,
    /// All of the machine.
    pub capacity: Resources,
    /// What pods may have of it.
    pub allocatable: Resources,
}

impl NodeView {
    /// What counts of it.
    pub fn facts(&self, tracked: &Tracked) -> Result<NodeFacts, Uncountable> {
        let labels = self.metadata.labels.as_ref();
        let is_virtual =
            labels.and_then(|labels| labels.get(VIRTUAL.0)).is_some_and(|kind| kind == VIRTUAL.1);
        let ready = |condition: &Condition| condition.kind == "Ready" && condition.status == "True";
        Ok(NodeFacts {
            is_virtual,
            takes_pods: !self.spec.unschedulable && self.status.conditions.iter().any(ready),
            capacity: tracked.read(&self.status.capacity)?.resources()?,
            allocatable: tracked.read(&self.status.allocatable)?.resources()?,
        })
    }
}
