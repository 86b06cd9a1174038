//! What tests, fuzz targets and benchmarks of this and later crates share: builders, scripts of operations, a model.

// A test builder that is given nonsense should fail at once.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod faults;
pub mod fleets;
pub mod model;
pub mod script;
pub mod world;

use crate::advertisement::{Advertisement, Consumed};
use crate::ask::{Ask, Terms};
use crate::id::{ClusterId, ReservationId};
use crate::labels::Labels;
use crate::price::Cost;
use crate::resources::Resources;
use crate::text::Line;
use crate::time::Timestamp;

/// A cluster id.
#[must_use]
pub fn cluster(name: &str) -> ClusterId {
    name.parse().unwrap()
}

/// A reservation id that ascends with its number.
#[must_use]
pub fn id(number: u128) -> ReservationId {
    ReservationId::from_bits(number)
}

/// CPU and memory.
#[must_use]
pub fn resources(cpu: &str, memory: &str) -> Resources {
    Resources::parse(cpu, memory, None, None).unwrap()
}

/// CPU, memory, GPU and storage.
#[must_use]
pub fn all_resources(cpu: &str, memory: &str, gpu: &str, storage: &str) -> Resources {
    Resources::parse(cpu, memory, Some(gpu), Some(storage)).unwrap()
}

/// Labels from pairs.
#[must_use]
pub fn labels(pairs: &[(&str, &str)]) -> Labels {
    Labels::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()).unwrap()
}

/// Prices for a core, a GiB and a device.
#[must_use]
pub fn cost(cpu: &str, memory: &str, gpu: &str, currency: &str) -> Cost {
    Cost {
        cpu: cpu.parse().unwrap(),
        memory: memory.parse().unwrap(),
        gpu: gpu.parse().unwrap(),
        currency: currency.parse().unwrap(),
    }
}

/// An idle cluster of this size.
#[must_use]
pub fn advertisement(cpu: &str, memory: &str, at: Timestamp) -> Advertisement {
    of_size(resources(cpu, memory), at)
}

/// An idle cluster with these amounts.
#[must_use]
pub fn of_size(size: Resources, at: Timestamp) -> Advertisement {
    Advertisement {
        name: Line::default(),
        timestamp: at,
        order: None,
        capacity: size,
        allocatable: size,
        allocated: Resources::NONE,
        consumed: Consumed::default(),
        cost: None,
        labels: Labels::default(),
        endpoint: None,
    }
}

/// A request on default terms.
#[must_use]
pub fn ask(requester: &str, amount: Resources) -> Ask {
    Ask::new(cluster(requester), amount, Terms::default()).unwrap()
}
