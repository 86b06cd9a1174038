//! An advertisement as an agent sends it. What the broker does not know is ignored, because agents are older and newer.

use serde::{Deserialize, Serialize};

use super::{Consumption, CostBody};
use crate::amounts::ResourceList;
use crate::body::only_objects;
use crate::labels::LabelTexts;

/// What an agent says of its cluster: `POST /api/v1/advertisements`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AdvertisementRequest {
    /// Which cluster. The broker compares it with the certificate before it looks at anything else.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// A name for people; the id when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// When it was made, by the agent's clock (RFC 3339).
    pub timestamp: String,
    /// How much there is.
    pub resources: OfferedResources,
    /// What it charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostBody>,
    /// Properties to select it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelTexts>,
    /// Where its own API is found.
    #[serde(rename = "endpointURL", skip_serializing_if = "Option::is_none")]
    pub endpoint_url: Option<String>,
    /// The part of `allocated` that others' offloaded workloads use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Vec<Consumption>>,
    /// What it keeps aside as a provider, also when that is nothing; absent from agents that do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<Vec<HoldingBody>>,
    /// One more than the broker showed when the agent started; together with `sequence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Counts up from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

impl AdvertisementRequest {
    /// What has to be said, and nothing more: without a word that agents of the earlier system do not know.
    #[must_use]
    pub fn new(
        cluster_id: impl Into<String>,
        timestamp: String,
        allocatable: ResourceList,
        allocated: ResourceList,
    ) -> Self {
        Self {
            cluster_id: cluster_id.into(),
            cluster_name: None,
            timestamp,
            resources: OfferedResources {
                capacity: allocatable.clone(),
                allocatable,
                allocated,
                reserved: None,
                available: None,
            },
            cost: None,
            labels: None,
            endpoint_url: None,
            consumed: None,
            holding: None,
            epoch: None,
            sequence: None,
        }
    }
}

/// How much a cluster has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OfferedResources {
    /// All that the machines have.
    pub capacity: ResourceList,
    /// What workloads may use of it.
    pub allocatable: ResourceList,
    /// What workloads have asked for.
    pub allocated: ResourceList,
    /// For a broker of the earlier system, which forgets its locks unless they are sent back to it. Ours does
    /// not look at it, whatever it is: the ledger is the broker's own.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ResourceList>,
    /// For a broker of the earlier system. Ours does not look at it: it computes what is available.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub available: Option<ResourceList>,
}

/// A promise that the cluster keeps as a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HoldingBody {
    /// Which reservation.
    #[serde(rename = "reservationID")]
    pub reservation_id: String,
    /// Who was promised.
    #[serde(rename = "requesterID")]
    pub requester_id: String,
    /// How much.
    pub resources: ResourceList,
    /// Until when (RFC 3339); without it, while the requester is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

only_objects!(AdvertisementRequest, OfferedResources, HoldingBody);
