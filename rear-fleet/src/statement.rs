//! An advertisement in its plainest form: so much, and nothing of it used.

use rear_agent_sdk::communicator::AdvertisementRequest;
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
    let now = moment::text(rear_agent_sdk::now());
    AdvertisementRequest::new(cluster.as_str(), now, amounts(cpu, memory), amounts("0", "0"))
}
