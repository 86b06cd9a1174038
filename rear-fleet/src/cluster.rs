//! A simulated cluster: what it has, how its own load changes, and what it keeps for others. It outlives its agents, as
//! a disk does.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rear_agent_sdk::communicator::{Reservation, Role};
use rear_agent_sdk::{Doing, InstructionHandler, Keeping, ResourceCollector, Snapshot};
use rear_api::advertisement::CostBody;
use rear_engine::{ClusterId, Resources};
use tokio::sync::Notify;

use crate::chance::Chance;
use crate::names::region;
use crate::witness::Witness;

const GIB: u64 = 1 << 30;

/// A core in the unit of quantities.
const CORE: u64 = 1000;

/// Of a cluster's capacity, for its own system.
const SYSTEM_PERCENT: u64 = 5;

/// Between these its own load changes: at times so high that what it has promised no longer fits beside it.
const OWN_LOAD_PERCENT: (u64, u64) = (5, 40);

pub(crate) struct Cluster {
    pub(crate) id: ClusterId,
    witness: Arc<Witness>,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    chance: Chance,
    /// What never changes: sizes, labels, cost.
    base: Snapshot,
    own_load: Resources,
    as_provider: BTreeMap<String, Promise>,
    as_requester: BTreeMap<String, Reservation>,
}

/// What it keeps for another, and whether that one's workload runs already.
struct Promise {
    reservation: Reservation,
    requester: ClusterId,
    used: Resources,
}

impl Cluster {
    pub(crate) fn new(id: ClusterId, number: usize, seed: u64, witness: Arc<Witness>) -> Self {
        let mut chance = Chance::new(seed, number as u64);
        let base = size(number, &mut chance);
        let own_load = own_load(&base, &mut chance);
        let (as_provider, as_requester) = (BTreeMap::new(), BTreeMap::new());
        let state = State { chance, base, own_load, as_provider, as_requester };
        Self { id, witness, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Its own load becomes another.
    pub(crate) fn churn(&self) {
        let state = &mut *self.lock();
        let wanted = own_load(&state.base, &mut state.chance);
        // A cluster runs no more than it has.
        let left = state
            .as_provider
            .values()
            .fold(state.base.allocatable, |left, promise| left.saturating_sub(promise.used));
        let fitting = wanted.amounts().into_iter().zip(left.amounts()).map(|(a, b)| a.min(b));
        state.own_load = resources(fitting.collect::<Vec<_>>().try_into().unwrap_or_default());
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        let mut snapshot = state.base.clone();
        snapshot.allocated = state.own_load;
        for Promise { requester, used, .. } in state.as_provider.values() {
            if used.is_none() {
                continue;
            }
            let entry = snapshot.consumed.entry(requester.clone()).or_default();
            *entry = entry.checked_add(*used).unwrap_or(*entry);
            snapshot.allocated =
                snapshot.allocated.checked_add(*used).unwrap_or(snapshot.allocated);
        }
        snapshot
    }

    fn put(&self, role: Role, reservation: &Reservation) {
        let state = &mut *self.lock();
        let id = reservation.id.clone();
        if role == Role::Requester {
            state.as_requester.insert(id, reservation.clone());
            return;
        }
        // Half of what is borrowed is used: what is counted as consumed must not be counted twice.
        let runs = state.chance.percent(50);
        let amounts = reservation.requested_resources.resources();
        let used = amounts.ok().filter(|_| runs).unwrap_or_default();
        if let Ok(requester) = reservation.requester_id.parse() {
            let reservation = reservation.clone();
            state.as_provider.insert(id, Promise { reservation, requester, used });
        }
    }
}

/// From four to sixty-four cores, four GiB for each; every fourth cluster has GPUs.
fn size(number: usize, chance: &mut Chance) -> Snapshot {
    let cores = 4 << chance.between(0, 4);
    let gpus = if number.is_multiple_of(4) { cores / 4 } else { 0 };
    let amounts = [cores * CORE, cores * 4 * GIB, gpus, cores * 16 * GIB];
    let usable = amounts.map(|amount| amount - amount * SYSTEM_PERCENT / 100);
    let cents = chance.between(1, 9);
    Snapshot {
        capacity: resources(amounts),
        allocatable: resources(usable),
        cost: Some(CostBody {
            cpu_cost: format!("0.0{cents}"),
            memory_cost: format!("0.00{cents}"),
            gpu_cost: Some(format!("1.{cents}")),
            currency: "EUR".to_owned(),
        }),
        labels: BTreeMap::from([("region".to_owned(), region(number).to_owned())]),
        ..Snapshot::default()
    }
}

fn own_load(base: &Snapshot, chance: &mut Chance) -> Resources {
    let percent = chance.between(OWN_LOAD_PERCENT.0, OWN_LOAD_PERCENT.1);
    let [cpu, memory, _, storage] = base.allocatable.amounts();
    let share = |amount: u64| amount / 100 * percent;
    resources([share(cpu), share(memory), 0, share(storage)])
}

/// Sizes are chosen here and far below what a quantity can be.
fn resources(amounts: [u64; 4]) -> Resources {
    Resources::from_amounts(amounts).unwrap_or_default()
}

/// The two halves of an agent, for a cluster that several agents speak for one after the other.
#[derive(Clone)]
pub(crate) struct Half(pub(crate) Arc<Cluster>);

impl ResourceCollector for Half {
    fn collect(&self) -> Doing<'_, Snapshot> {
        Box::pin(async { Ok(self.0.snapshot()) })
    }

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.changed.notified())
    }
}

impl InstructionHandler for Half {
    fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>> {
        Box::pin(async move {
            let state = self.0.lock();
            Ok(match role {
                Role::Provider => {
                    state.as_provider.values().map(|kept| kept.reservation.clone()).collect()
                }
                Role::Requester => state.as_requester.values().cloned().collect(),
            })
        })
    }

    fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a> {
        Box::pin(async move {
            self.0.put(role, promise);
            self.0.witness.told(role, &self.0.id, promise);
            Ok(())
        })
    }

    fn give_back<'a>(&'a self, role: Role, promise: &'a Reservation) -> Doing<'a, ()> {
        Box::pin(async move {
            match role {
                Role::Provider => drop(self.0.lock().as_provider.remove(&promise.id)),
                Role::Requester => drop(self.0.lock().as_requester.remove(&promise.id)),
            }
            self.0.witness.given_back(role, &promise.id);
            Ok(())
        })
    }
}
