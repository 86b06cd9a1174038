//! The oracle's texts as bodies of the wire.

use rear_agent_sdk::communicator::{AdvertisementRequest, ReservationRequest};
use rear_api::advertisement::{Consumption, CostBody};
use rear_api::amounts::{QuantityText, ResourceList};
use rear_api::labels::LabelTexts;
use rear_api::reservation::{Constraints, MaxPrice};

use crate::oracle::{Charge, Offer, Texts, Wish};

pub(super) fn offer(offer: &Offer) -> AdvertisementRequest {
    let Offer { id, allocatable, allocated, consumed, charge, labels } = offer;
    let mut told = crate::offer::offer(id, list(allocatable), list(allocated));
    let used = |(requester, texts): &(String, Texts)| {
        let ResourceList { cpu, memory, gpu, storage } = list(texts);
        Consumption { requester_id: requester.clone(), cpu, memory, gpu, storage }
    };
    told.consumed = Some(consumed.iter().map(used).collect());
    told.cost = charge.as_ref().map(|Charge { cpu, memory, gpu, currency }| CostBody {
        cpu_cost: cpu.clone(),
        memory_cost: memory.clone(),
        gpu_cost: gpu.clone(),
        currency: currency.clone(),
    });
    told.labels = Some(LabelTexts(labels.clone()));
    told
}

fn list(texts: &Texts) -> ResourceList {
    let Texts { cpu, memory, gpu, storage } = texts.clone();
    let known = |text: Option<String>| text.map(QuantityText);
    ResourceList {
        cpu: QuantityText(cpu),
        memory: QuantityText(memory),
        gpu: known(gpu),
        storage: known(storage),
    }
}

pub(super) fn request(wish: &Wish) -> ReservationRequest {
    let Wish { requester: _, amounts, strategy, target, required, preferred, ceiling } =
        wish.clone();
    let mut request = rear_agent_sdk::request(&amounts.cpu, &amounts.memory);
    let ResourceList { gpu, storage, .. } = list(&amounts);
    (request.requested_resources.gpu, request.requested_resources.storage) = (gpu, storage);
    (request.strategy, request.target_cluster_id) = (strategy, target);
    let labels = |labels: std::collections::BTreeMap<_, _>| {
        (!labels.is_empty()).then_some(LabelTexts(labels))
    };
    request.constraints = Some(Constraints {
        labels: labels(required),
        preferred_labels: labels(preferred),
        max_price: ceiling.map(|(amount, currency)| MaxPrice { amount, currency }),
    });
    request
}
