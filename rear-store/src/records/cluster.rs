//! What is remembered of a cluster, as it is written down.

use std::collections::BTreeMap;

use rear_engine::advertisement::{Advertisement, Consumed, Order};
use rear_engine::fleet::{Advertised, ClusterRecord as Remembered};
use rear_engine::price::Cost;
use rear_engine::text::Line;
use rear_engine::{ClusterId, Resources, Timestamp};
use serde::{Deserialize, Serialize};

use super::ask::{labels, pairs};
use super::{InvalidField, Sealed, Table};

/// A cluster. Its id is the key of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRecord {
    advertised: Option<AdvertisedRecord>,
    heard_at: Option<i64>,
    stale: bool,
    recovered_in: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AdvertisedRecord {
    received_at: i64,
    name: String,
    timestamp: i64,
    order: Option<(u64, u64)>,
    capacity: [u64; 4],
    allocatable: [u64; 4],
    allocated: [u64; 4],
    consumed: Vec<(String, [u64; 4])>,
    cost: Option<CostRecord>,
    labels: BTreeMap<String, String>,
    endpoint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CostRecord {
    cpu: String,
    memory: String,
    gpu: String,
    currency: String,
}

impl Sealed for ClusterRecord {
    const TABLE: Table = Table::Advertisements;
    const SCHEMA: u8 = 1;
}

impl From<&Remembered> for ClusterRecord {
    fn from(cluster: &Remembered) -> Self {
        let Remembered { id: _, advertised, heard_at, stale, recovered_in } = cluster;
        Self {
            advertised: advertised.as_ref().map(Into::into),
            heard_at: heard_at.map(Timestamp::as_nanos),
            stale: *stale,
            recovered_in: *recovered_in,
        }
    }
}

impl ClusterRecord {
    /// What is remembered of the cluster of this id.
    pub fn into_remembered(self, id: ClusterId) -> Result<Remembered, InvalidField> {
        let Self { advertised, heard_at, stale, recovered_in } = self;
        Ok(Remembered {
            id,
            advertised: advertised.map(TryInto::try_into).transpose()?,
            heard_at: heard_at.map(Timestamp::from_nanos),
            stale,
            recovered_in,
        })
    }
}

impl From<&Advertised> for AdvertisedRecord {
    fn from(advertised: &Advertised) -> Self {
        let Advertised { advertisement, received_at } = advertised;
        let Advertisement {
            name,
            timestamp,
            order,
            capacity,
            allocatable,
            allocated,
            consumed,
            cost,
            labels,
            endpoint,
        } = advertisement;
        let entry = |(requester, amount): (&ClusterId, Resources)| {
            (requester.to_string(), amount.amounts())
        };
        Self {
            received_at: received_at.as_nanos(),
            name: name.to_string(),
            timestamp: timestamp.as_nanos(),
            order: order.map(|order| (order.epoch, order.sequence)),
            capacity: capacity.amounts(),
            allocatable: allocatable.amounts(),
            allocated: allocated.amounts(),
            consumed: consumed.iter().map(entry).collect(),
            cost: cost.as_ref().map(Into::into),
            labels: pairs(labels),
            endpoint: endpoint.as_ref().map(ToString::to_string),
        }
    }
}

impl TryFrom<AdvertisedRecord> for Advertised {
    type Error = InvalidField;

    fn try_from(record: AdvertisedRecord) -> Result<Self, InvalidField> {
        let allocated = amounts(record.allocated)?;
        let entry = |(requester, amount): (String, [u64; 4])| {
            let requester = requester.parse().map_err(|_| InvalidField("consumed"))?;
            Ok((requester, amounts(amount)?))
        };
        let consumed: Vec<(ClusterId, Resources)> =
            record.consumed.into_iter().map(entry).collect::<Result<_, InvalidField>>()?;
        let advertisement = Advertisement {
            name: line(&record.name)?,
            timestamp: Timestamp::from_nanos(record.timestamp),
            order: record.order.map(|(epoch, sequence)| Order { epoch, sequence }),
            capacity: amounts(record.capacity)?,
            allocatable: amounts(record.allocatable)?,
            allocated,
            consumed: Consumed::new(consumed).map_err(|_| InvalidField("consumed"))?,
            cost: record.cost.map(TryInto::try_into).transpose()?,
            labels: labels(record.labels)?,
            endpoint: record.endpoint.as_deref().map(line).transpose()?,
        };
        Ok(Self { advertisement, received_at: Timestamp::from_nanos(record.received_at) })
    }
}

impl From<&Cost> for CostRecord {
    fn from(cost: &Cost) -> Self {
        let Cost { cpu, memory, gpu, currency } = cost;
        Self {
            cpu: cpu.to_string(),
            memory: memory.to_string(),
            gpu: gpu.to_string(),
            currency: currency.to_string(),
        }
    }
}

impl TryFrom<CostRecord> for Cost {
    type Error = InvalidField;

    fn try_from(record: CostRecord) -> Result<Self, InvalidField> {
        let rate = |text: String| text.parse().map_err(|_| InvalidField("cost"));
        Ok(Self {
            cpu: rate(record.cpu)?,
            memory: rate(record.memory)?,
            gpu: rate(record.gpu)?,
            currency: record.currency.parse().map_err(|_| InvalidField("currency"))?,
        })
    }
}

fn amounts(amounts: [u64; 4]) -> Result<Resources, InvalidField> {
    Resources::from_amounts(amounts).map_err(|_| InvalidField("resources"))
}

fn line(text: &str) -> Result<Line, InvalidField> {
    text.parse().map_err(|_| InvalidField("text"))
}
