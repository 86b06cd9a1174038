//! An advertisement in its plainest form: so much, and nothing of it used.

use rear_agent_sdk::communicator::AdvertisementRequest;
use rear_api::advertisement::OfferedResources;
use rear_api::amounts::ResourceList;
use rear_api::moment;
use rear_engine::ClusterId;

/// What a cluster of this size says, without a word that agents of the earlier system do not know.
pub(crate) fn statement(cluster: &ClusterId, cpu: &str, memory: &str) -> AdvertisementRequest {
    let amounts = |cpu: &str, memory: &str| ResourceList {
        cpu: cpu.into(),
        memory: memory.into(),
        gpu: None,
        storage: None,
    };
    let all = amounts(cpu, memory);
    AdvertisementRequest {
        cluster_id: cluster.to_string(),
        cluster_name: None,
        timestamp: moment::text(rear_agent_sdk::now()),
        resources: OfferedResources {
            capacity: all.clone(),
            allocatable: all,
            allocated: amounts("0", "0"),
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
