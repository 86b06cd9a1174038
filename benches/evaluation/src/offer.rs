//! What the clusters of the evaluation say of themselves.

use rear_agent_sdk::communicator::{AdvertisementRequest, BrokerCommunicator, ReservationRequest};
use rear_api::amounts::{QuantityText, ResourceList};
use rear_api::moment;

use crate::stage::Trouble;

/// Amounts in millicores, bytes, devices and bytes of storage: the order of the wire.
pub(crate) type Amounts = [u64; 4];

/// As texts, with the smallest unit: nothing is rounded.
pub(crate) fn list([cpu, memory, gpu, storage]: Amounts) -> ResourceList {
    let known = |amount: u64| (amount > 0).then(|| QuantityText(amount.to_string()));
    ResourceList {
        cpu: QuantityText(format!("{cpu}m")),
        memory: QuantityText(memory.to_string()),
        gpu: known(gpu),
        storage: known(storage),
    }
}

/// A request for exactly this much.
pub(crate) fn request(amounts: Amounts) -> ReservationRequest {
    let ResourceList { cpu, memory, gpu, storage } = list(amounts);
    let mut request = rear_agent_sdk::request(&cpu.0, &memory.0);
    (request.requested_resources.gpu, request.requested_resources.storage) = (gpu, storage);
    request
}

/// An advertisement of this moment.
pub(crate) fn offer(
    cluster: &str,
    allocatable: ResourceList,
    allocated: ResourceList,
) -> AdvertisementRequest {
    AdvertisementRequest::new(cluster, moment::text(rear_agent_sdk::now()), allocatable, allocated)
}

/// More than anyone asks for.
pub(crate) async fn publish_huge(
    broker: &dyn BrokerCommunicator,
    cluster: &str,
) -> Result<(), Trouble> {
    let huge = [1_000_000_000, 1 << 50, 0, 0];
    broker.publish(&offer(cluster, list(huge), list([0; 4]))).await?;
    Ok(())
}
