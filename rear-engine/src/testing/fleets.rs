//! Generated fleets of any size, the same for the same seed.

use crate::ask::{Ask, Strategy, Terms};
use crate::decision::Change;
use crate::fleet::{Advertised, ClusterRecord, Fleet};
use crate::id::ClusterId;
use crate::place::select::choose;
use crate::policy::Policy;
use crate::resources::{DIMENSIONS, Resources};
use crate::time::Timestamp;

const GIB: u64 = 1 << 30;

/// A small generator of even quality; nothing here is secret.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The same numbers for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound.max(1)
    }
}

/// How the load is spread over a generated fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Every cluster is used by a share of its own: a fleet in daily use.
    Mixed,
    /// Every cluster is used by nearly the same share: what placing by headroom leads to.
    Levelled,
    /// Every cluster is empty and of the same size.
    Uniform,
}

/// A fleet of `count` clusters in the broker's currency `EUR`.
#[must_use]
pub fn fleet(count: usize, load: Load, strategy: Strategy, now: Timestamp) -> Fleet {
    let currency = "EUR".parse().ok();
    fleet_under(count, load, Policy { strategy, currency, ..Policy::default() }, now)
}

/// The same, where the broker has rules of its own.
#[must_use]
pub fn fleet_under(count: usize, load: Load, policy: Policy, now: Timestamp) -> Fleet {
    let mut fleet = Fleet::new(policy);
    let mut dice = Dice::new(count as u64);
    for number in 0..count {
        let record = ClusterRecord {
            advertised: Some(Advertised {
                advertisement: advertisement(load, &mut dice, now),
                received_at: now,
            }),
            ..ClusterRecord::new(name(number))
        };
        fleet.apply(Change::Cluster(Box::new(record))).unwrap();
    }
    fleet.settle();
    fleet
}

/// The name of a generated cluster.
#[must_use]
pub fn name(number: usize) -> ClusterId {
    super::cluster(&format!("cluster-{number:07}"))
}

/// A request for a few cores; with GPU and storage where `dimensions` is 4.
#[must_use]
pub fn request(dice: &mut Dice, dimensions: usize) -> Ask {
    let cores = dice.below(8) + 1;
    let extra = u64::from(dimensions == DIMENSIONS);
    let amounts = [cores * 500, cores * GIB, extra * (1 + dice.below(2)), extra * 10 * GIB];
    let requester = super::cluster(&format!("requester-{}", dice.below(1000)));
    let resources = Resources::from_amounts(amounts).unwrap();
    Ask::new(requester, resources, Terms::default()).unwrap()
}

/// The core of a grant, without any record of it: choose a provider, update its ledger and the index.
pub fn choose_and_hold(fleet: &mut Fleet, ask: &Ask, now: Timestamp) -> Option<ClusterId> {
    let provider = choose(fleet, ask, now).ok()?;
    fleet.hold_unrecorded(&provider, ask.requester(), ask.resources()).ok()?;
    Some(provider)
}

/// Undoes [`choose_and_hold`].
pub fn give_back(fleet: &mut Fleet, provider: &ClusterId, ask: &Ask) {
    fleet.give_back_unrecorded(provider, ask.requester(), ask.resources()).unwrap();
}

fn advertisement(load: Load, dice: &mut Dice, now: Timestamp) -> crate::Advertisement {
    let nodes = if load == Load::Uniform { 16 } else { 1 + dice.below(64) };
    let memory_per_node = if load == Load::Uniform {
        32
    } else {
        [16, 32, 64][usize::try_from(dice.below(3)).unwrap()]
    };
    let size = [nodes * 8000, nodes * memory_per_node * GIB, nodes, nodes * 100 * GIB];
    let mut per_mille = || match load {
        Load::Mixed => dice.below(900),
        Load::Levelled => 498 + dice.below(5),
        Load::Uniform => 0,
    };
    let used: [u64; DIMENSIONS] = [per_mille(), per_mille(), per_mille(), per_mille()];
    let allocated = std::array::from_fn(|d| size[d] / 1000 * used[d]);
    let mut advertisement = super::of_size(Resources::from_amounts(size).unwrap(), now);
    advertisement.allocated = Resources::from_amounts(allocated).unwrap();
    let rates = ["0.031", "0.04", "0.042", "0.05"];
    let mut rate = || rates[usize::try_from(dice.below(4)).unwrap()];
    advertisement.cost = Some(super::cost(rate(), rate(), "1.5", "EUR"));
    advertisement
}
