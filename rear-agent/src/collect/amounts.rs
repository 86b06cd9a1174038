//! Resource lists of Kubernetes as exact numbers: read once, added and compared as the scheduler does.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use rear_agent_sdk::{Dimension, Resources};
use thiserror::Error;

/// Amounts by the name of the resource, as an object carries them.
pub type ResourceList = BTreeMap<String, Quantity>;

const CPU: usize = 0;
const MEMORY: usize = 1;
const STORAGE: usize = 2;

/// The names in their places; devices follow.
const FIXED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// What a pod as a whole may ask for; the rest is asked for by containers only.
const OF_WHOLE_PODS: [usize; 2] = [CPU, MEMORY];

const MILLIS: u128 = 1000;

/// Which resources are looked at: CPU, memory, ephemeral storage, and devices by name, which together are the GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    devices: Vec<String>,
}

/// An amount of each tracked resource, in thousandths: Kubernetes keeps no finer ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amounts(Vec<u128>);

/// A quantity that is none, or one beyond what can be represented.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{resource}: `{text}` cannot be counted")]
pub struct Uncountable {
    /// The name of the resource.
    pub resource: String,
    /// As it was written.
    pub text: String,
}

impl Tracked {
    /// CPU, memory, storage and these devices.
    #[must_use]
    pub fn with_devices(devices: Vec<String>) -> Self {
        Self { devices }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        FIXED.into_iter().chain(self.devices.iter().map(String::as_str))
    }

    /// Nothing of anything.
    #[must_use]
    pub fn none(&self) -> Amounts {
        Amounts(vec![0; FIXED.len() + self.devices.len()])
    }

    /// The tracked part of a list; what is absent is 0.
    pub fn read(&self, list: &ResourceList) -> Result<Amounts, Uncountable> {
        let amount =
            |name: &str| list.get(name).map_or(Ok(0), |quantity| thousandths(name, quantity));
        self.names().map(amount).collect::<Result<_, _>>().map(Amounts)
    }
}

/// What is too large in thousandths is read whole: then the thousandths do not matter.
fn thousandths(name: &str, quantity: &Quantity) -> Result<u128, Uncountable> {
    let text = &quantity.0;
    let fine = Dimension::Cpu.parse(text).map(u128::from);
    let coarse = || Dimension::Memory.parse(text).map(|whole| u128::from(whole) * MILLIS);
    fine.or_else(|_| coarse())
        .map_err(|_| Uncountable { resource: name.to_owned(), text: text.clone() })
}

impl Amounts {
    /// Adds the other.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// Of each resource the larger amount.
    pub fn raise_to(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// What a pod as a whole asks for replaces what its containers ask for, where it is named.
    pub fn replace_named(&mut self, by: &Self, named: &ResourceList) {
        for place in OF_WHOLE_PODS {
            if named.contains_key(FIXED[place]) {
                self.0[place] = by.0[place];
            }
        }
    }

    /// In the four dimensions of REAR, rounded up.
    pub fn resources(&self) -> Result<Resources, Uncountable> {
        let whole = |millis: u128| millis.div_ceil(MILLIS);
        let gpu = self.0[FIXED.len()..].iter().map(|millis| whole(*millis)).sum();
        let amounts = [self.0[CPU], whole(self.0[MEMORY]), gpu, whole(self.0[STORAGE])];
        let too_large = || Uncountable { resource: "sum".to_owned(), text: format!("{amounts:?}") };
        let mut narrow = [0; 4];
        for (narrow, wide) in narrow.iter_mut().zip(amounts) {
            *narrow = u64::try_from(wide).map_err(|_| too_large())?;
        }
        Resources::from_amounts(narrow).map_err(|_| too_large())
    }
}
