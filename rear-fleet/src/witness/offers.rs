//! What a cluster has offered, and when it can have counted.

use std::time::Duration;

use rear_agent_sdk::communicator::AdvertisementRequest;
use rear_api::advertisement::Consumption;
use rear_api::amounts::ResourceList;
use rear_engine::Resources;
use tokio::time::Instant;

/// Longer than any request for a reservation takes, all its attempts and restarts included.
const REMEMBER: Duration = Duration::from_mins(10);

/// The offers of one cluster, in the order in which they were sent.
#[derive(Default)]
pub(super) struct Offers {
    sent: Vec<Offer>,
    answered: bool,
}

struct Offer {
    order: (Option<u64>, Option<u64>),
    room: Resources,
    from: Instant,
    until: Option<Instant>,
}

impl Offers {
    pub(super) fn sent(&mut self, told: &AdvertisementRequest, now: Instant) {
        self.sent.retain(|offer| offer.until.is_none_or(|until| now - until < REMEMBER));
        let order = (told.epoch, told.sequence);
        self.sent.push(Offer { order, room: room(told), from: now, until: None });
    }

    /// Those before it have been replaced by now, also if they were lost on the way: an older one never replaces a
    /// newer one.
    pub(super) fn answered(&mut self, told: &AdvertisementRequest, now: Instant) {
        self.answered = true;
        let order = (told.epoch, told.sequence);
        for offer in self.sent.iter_mut().filter(|offer| offer.order < order) {
            offer.until = offer.until.or(Some(now));
        }
    }

    /// Whether the broker has taken one.
    pub(super) fn has_answer(&self) -> bool {
        self.answered
    }

    /// In each dimension the most that may have counted at some moment between; nothing without an offer.
    pub(super) fn most_between(&self, start: Instant, end: Instant) -> Option<Resources> {
        let counted = self
            .sent
            .iter()
            .filter(|offer| offer.from <= end && offer.until.is_none_or(|until| until >= start));
        counted.map(|offer| offer.room).reduce(|most, room| {
            let (left, right) = (most.amounts(), room.amounts());
            let larger = std::array::from_fn(|at| left[at].max(right[at]));
            Resources::from_amounts(larger).unwrap_or(most)
        })
    }
}

/// What is left beside the cluster's own load. What borrowers use of it is part of what they were promised, and counts
/// there.
fn room(told: &AdvertisementRequest) -> Resources {
    let amounts = |list: &ResourceList| list.resources().unwrap_or_default();
    let used = |used: &Consumption| {
        let Consumption { requester_id: _, cpu, memory, gpu, storage } = used.clone();
        amounts(&ResourceList { cpu, memory, gpu, storage })
    };
    let borrowed = told.consumed.iter().flatten().map(used);
    let own = borrowed.fold(amounts(&told.resources.allocated), Resources::saturating_sub);
    amounts(&told.resources.allocatable).saturating_sub(own)
}
