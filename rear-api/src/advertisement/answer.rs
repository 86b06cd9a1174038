//! An advertisement as the broker sees it: with what is reserved, what is left, and how the cluster stands.

use rear_engine::fleet::{Cluster, ClusterRecord};
use rear_engine::ledger::Available;
use rear_engine::place::score::{Score, displayed};
use rear_engine::{Fleet, Resources, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Consumption, CostBody};
use crate::amounts::{Known, ResourceList};
use crate::body::only_objects;
use crate::labels::LabelTexts;
use crate::moment;
use crate::reservation::Reservation;

/// The answer to an advertisement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AdvertisementAnswer {
    /// The advertisement as the broker sees it.
    pub advertisement: Advertisement,
    /// What the cluster has to keep aside; absent when there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_instructions: Option<Vec<Reservation>>,
}

/// An advertisement as the broker sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Advertisement {
    /// Which cluster.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// A name for people; may equal the id.
    #[serde(default)]
    pub cluster_name: String,
    /// When it was made, by the agent's clock.
    pub timestamp: String,
    /// How much there is, and what is left.
    pub resources: ShownResources,
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
    /// The start of the agent that is listened to; an agent that starts takes the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Its count since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// How it stands; absent from a broker of the earlier system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ClusterStatus>,
}

/// How much a cluster has, and what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShownResources {
    /// All that the machines have.
    pub capacity: ResourceList,
    /// What workloads may use of it.
    pub allocatable: ResourceList,
    /// What workloads have asked for.
    pub allocated: ResourceList,
    /// The sum of the live promises, from the broker's ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ResourceList>,
    /// What is left, never shown below zero.
    pub available: ResourceList,
}

/// How a cluster stands with the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterStatus {
    /// Whether its advertisement is recent enough for new promises.
    pub active: bool,
    /// The share that is free, `0.00` to `100.00`.
    pub score: String,
    /// It has promised or used more than it has, and gets no new promises.
    pub overcommitted: bool,
    /// After a restore, it has not yet said what it holds, and gets no new promises.
    pub recovering: bool,
    /// When it last advertised, by the broker's clock.
    pub received_at: String,
}

only_objects!(AdvertisementAnswer, Advertisement, ShownResources, ClusterStatus);

/// All that is known of a cluster at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What it said, and when.
    pub record: &'a ClusterRecord,
    /// The sum of the live promises on it.
    pub reserved: Resources,
    /// What is left on it.
    pub available: Available,
    /// Its displayed score.
    pub score: Score,
    /// Whether its advertisement is recent enough for new promises.
    pub fresh: bool,
    /// Whether it may hold promises that the ledger does not know.
    pub recovering: bool,
}

impl<'a> Seen<'a> {
    /// A cluster of this fleet; nothing for one that does not advertise.
    #[must_use]
    pub fn of(fleet: &Fleet, cluster: &'a Cluster, now: Timestamp) -> Option<Self> {
        let record = cluster.record();
        Some(Self {
            record,
            reserved: cluster.ledger().total(),
            available: cluster.available()?,
            score: displayed(cluster, fleet.policy().weights)?,
            fresh: fleet.is_fresh(record, now),
            recovering: fleet.is_recovering(record),
        })
    }
}

impl Advertisement {
    /// How the broker shows a cluster; nothing for one that does not advertise.
    #[must_use]
    pub fn of(seen: Seen<'_>) -> Option<Self> {
        let advertised = seen.record.advertised.as_ref()?;
        let told = &advertised.advertisement;
        Some(Self {
            cluster_id: seen.record.id.as_str().to_owned(),
            cluster_name: told.name.as_str().to_owned(),
            timestamp: moment::text(told.timestamp),
            resources: ShownResources::of(told, &seen),
            cost: told.cost.as_ref().map(CostBody::from),
            labels: LabelTexts::of(&told.labels),
            endpoint_url: told.endpoint.as_ref().map(ToString::to_string),
            consumed: Consumption::all(&told.consumed),
            epoch: told.order.map(|order| order.epoch),
            sequence: told.order.map(|order| order.sequence),
            status: Some(ClusterStatus {
                active: seen.fresh,
                score: seen.score.to_string(),
                overcommitted: seen.available.is_overcommitted(),
                recovering: seen.recovering,
                received_at: moment::text(advertised.received_at),
            }),
        })
    }
}

impl ShownResources {
    /// GPU and storage are shown everywhere or nowhere, so that "none left" differs from "none known".
    fn of(told: &rear_engine::Advertisement, seen: &Seen<'_>) -> Self {
        let known =
            Known::in_any(&[told.capacity, told.allocatable, told.allocated, seen.reserved]);
        let shown = |resources| ResourceList::showing(resources, known);
        Self {
            capacity: shown(told.capacity),
            allocatable: shown(told.allocatable),
            allocated: shown(told.allocated),
            reserved: Some(shown(seen.reserved)),
            available: shown(seen.available.shown()),
        }
    }
}
