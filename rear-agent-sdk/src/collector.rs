//! What a cluster has: the half of an agent that looks at it.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::pin::Pin;

use rear_api::advertisement::{
    AdvertisementRequest, Consumption, CostBody, HoldingBody, OfferedResources,
};
use rear_api::amounts::ResourceList;
use rear_api::labels::LabelTexts;
use rear_api::moment;
use rear_engine::{ClusterId, Resources, Timestamp};

use crate::communicator::Reservation;
use crate::error::{Error, Source};

/// Something of the agent's own that is being done.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, Source>> + Send + 'a>>;

/// Looks at a cluster.
pub trait ResourceCollector: Send + Sync + 'static {
    /// What the cluster has at this moment.
    fn collect(&self) -> Doing<'_, Snapshot>;

    /// Ends when something may have changed; it is then collected, and published if it has. Without it, the schedule
    /// alone decides.
    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(pending())
    }

    /// How it went to publish what was collected, each time: for agents that show it to someone.
    fn told(&self, _outcome: Result<(), &Error>) {}
}

/// What a cluster has at one moment. Members may be added: end yours with `..Snapshot::default()`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// All that the machines have.
    pub capacity: Resources,
    /// What workloads may use of it.
    pub allocatable: Resources,
    /// What workloads have asked for.
    pub allocated: Resources,
    /// The part of `allocated` that the workloads of other clusters use, by cluster.
    pub consumed: BTreeMap<ClusterId, Resources>,
    /// What it charges.
    pub cost: Option<CostBody>,
    /// Properties to select it by.
    pub labels: BTreeMap<String, String>,
    /// Where its own API is found.
    pub endpoint: Option<String>,
}

/// The place of an advertisement among those of a cluster: the start of the agent, and a count since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    pub(crate) epoch: u64,
    pub(crate) sequence: u64,
}

impl Order {
    /// The start of an epoch. The count begins anywhere: two agents that start in the same moment take the same epoch,
    /// and whoever is behind notices; if both counted from 0, a broker could not tell them apart.
    pub(crate) fn starting(epoch: u64) -> Self {
        Self { epoch, sequence: uuid::Uuid::new_v4().as_u64_pair().0 >> 32 }
    }
}

impl Snapshot {
    /// The advertisement that says it, with what is kept for others.
    pub(crate) fn told(
        &self,
        cluster: &ClusterId,
        kept: &[Reservation],
        order: Order,
        now: Timestamp,
    ) -> AdvertisementRequest {
        let consumption = |(requester, used): (&ClusterId, &Resources)| {
            let ResourceList { cpu, memory, gpu, storage } = (*used).into();
            Consumption { requester_id: requester.to_string(), cpu, memory, gpu, storage }
        };
        AdvertisementRequest {
            cluster_id: cluster.to_string(),
            cluster_name: None,
            timestamp: moment::text(now),
            resources: OfferedResources {
                capacity: self.capacity.into(),
                allocatable: self.allocatable.into(),
                allocated: self.allocated.into(),
                reserved: None,
                available: None,
            },
            cost: self.cost.clone(),
            labels: (!self.labels.is_empty()).then(|| LabelTexts(self.labels.clone())),
            endpoint_url: self.endpoint.clone(),
            consumed: Some(self.consumed.iter().map(consumption).collect()),
            holding: Some(kept.iter().map(holding).collect()),
            epoch: Some(order.epoch),
            sequence: Some(order.sequence),
        }
    }
}

fn holding(kept: &Reservation) -> HoldingBody {
    HoldingBody {
        reservation_id: kept.id.clone(),
        requester_id: kept.requester_id.clone(),
        resources: kept.requested_resources.clone(),
        expires_at: kept.status.expires_at.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_told_if_there_are_any() {
        let told = |snapshot: &Snapshot| {
            let cluster = "paris".parse().unwrap();
            snapshot.told(&cluster, &[], Order::starting(1), Timestamp::from_seconds(0)).labels
        };
        let mut snapshot = Snapshot::default();
        assert!(told(&snapshot).is_none());
        snapshot.labels.insert("region".to_owned(), "eu".to_owned());
        assert!(told(&snapshot).is_some_and(|LabelTexts(labels)| labels == snapshot.labels));
    }
}
