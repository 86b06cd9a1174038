//! Amounts in objects: quantities as Kubernetes itself takes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use crate::amounts::{QuantityText, RequestedResources, ResourceList};

/// An amount of each resource.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
pub struct Amounts {
    /// Cores.
    #[schemars(schema_with = "schema::short_quantity")]
    pub cpu: QuantityText,
    /// Bytes.
    #[schemars(schema_with = "schema::short_quantity")]
    pub memory: QuantityText,
    /// Devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::short_quantity")]
    pub gpu: Option<QuantityText>,
    /// Bytes of ephemeral storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::short_quantity")]
    pub storage: Option<QuantityText>,
}

impl Amounts {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self { cpu: "0".into(), memory: "0".into(), gpu: None, storage: None }
    }
}

impl From<ResourceList> for Amounts {
    fn from(list: ResourceList) -> Self {
        let ResourceList { cpu, memory, gpu, storage } = list;
        Self { cpu, memory, gpu, storage }
    }
}

impl From<Amounts> for ResourceList {
    fn from(amounts: Amounts) -> Self {
        let Amounts { cpu, memory, gpu, storage } = amounts;
        Self { cpu, memory, gpu, storage }
    }
}

impl From<RequestedResources> for Amounts {
    fn from(list: RequestedResources) -> Self {
        let RequestedResources { cpu, memory, gpu, storage } = list;
        Self { cpu, memory, gpu, storage }
    }
}

impl From<Amounts> for RequestedResources {
    fn from(amounts: Amounts) -> Self {
        let Amounts { cpu, memory, gpu, storage } = amounts;
        Self { cpu, memory, gpu, storage }
    }
}
