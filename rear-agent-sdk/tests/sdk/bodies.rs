//! Bodies in short.

use rear_agent_sdk::communicator::{AdvertisementRequest, ReservationRequest};
use rear_agent_sdk::{BrokerCommunicator, now};
use rear_api::amounts::ResourceList;
use rear_api::moment;

pub(crate) fn amounts(cpu: &str, memory: &str) -> ResourceList {
    ResourceList { cpu: cpu.into(), memory: memory.into(), gpu: None, storage: None }
}

pub(crate) fn advertisement(cluster: &str, cpu: &str, memory: &str) -> AdvertisementRequest {
    AdvertisementRequest::new(cluster, moment::text(now()), amounts(cpu, memory), amounts("0", "0"))
}

/// For an hour.
pub(crate) fn request(cpu: &str, memory: &str) -> ReservationRequest {
    let duration = Some("1h".to_owned());
    ReservationRequest { duration, ..rear_agent_sdk::request(cpu, memory) }
}

/// The cluster advertises eight cores and 16 GiB.
pub(crate) async fn advertise(communicator: &impl BrokerCommunicator, cluster: &str) {
    communicator.publish(&advertisement(cluster, "8", "16Gi")).await.unwrap();
}
