//! Advertisements: what an agent says of its cluster, and the same as the broker sees it.

mod answer;
mod familiar;
mod request;
mod told;

pub use answer::{Advertisement, AdvertisementAnswer, ClusterStatus, Seen, ShownResources};
pub use familiar::{Familiar, MAX_FAMILIAR};
pub use request::{AdvertisementRequest, HoldingBody, OfferedResources};

use rear_engine::price::{Cost, Rate};
use serde::{Deserialize, Serialize};

use crate::amounts::QuantityText;
use crate::body::{At, Invalid, only_objects};

/// What a cluster charges for an hour, as decimal texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CostBody {
    /// For a core.
    pub cpu_cost: String,
    /// For a GiB of memory.
    pub memory_cost: String,
    /// For a device; free when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_cost: Option<String>,
    /// In which currency.
    pub currency: String,
}

/// What one requester's offloaded workloads use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Consumption {
    /// Whose workloads.
    #[serde(rename = "requesterID")]
    pub requester_id: String,
    /// Cores.
    pub cpu: QuantityText,
    /// Bytes.
    pub memory: QuantityText,
    /// Devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<QuantityText>,
    /// Bytes of ephemeral storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<QuantityText>,
}

only_objects!(CostBody, Consumption);

impl CostBody {
    /// Checks it.
    pub fn cost(&self) -> Result<Cost, Invalid> {
        let Self { cpu_cost, memory_cost, gpu_cost, currency } = self;
        Ok(Cost {
            cpu: cpu_cost.parse().at("cpuCost")?,
            memory: memory_cost.parse().at("memoryCost")?,
            gpu: gpu_cost.as_deref().map_or(Ok(Rate::default()), str::parse).at("gpuCost")?,
            currency: currency.parse().at("currency")?,
        })
    }
}

impl From<&Cost> for CostBody {
    fn from(cost: &Cost) -> Self {
        let Cost { cpu, memory, gpu, currency } = cost;
        Self {
            cpu_cost: cpu.to_string(),
            memory_cost: memory.to_string(),
            gpu_cost: (*gpu != Rate::default()).then(|| gpu.to_string()),
            currency: currency.to_string(),
        }
    }
}
