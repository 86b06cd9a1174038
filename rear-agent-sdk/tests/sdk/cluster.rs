//! A small cluster of the test's own: what it has, what it keeps, and how often it was asked.

use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, Reservation, Role};
use rear_agent_sdk::{
    Agent, Doing, Error, InstructionHandler, Keeping, NotKept, ResourceCollector, Schedule,
    Snapshot,
};
use rear_engine::Resources;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

/// No claim takes longer than this; what does is stuck.
const PATIENCE: Duration = Duration::from_secs(90);

/// Outlives its agents, as a disk does.
#[derive(Clone)]
pub(crate) struct Cluster {
    has: watch::Sender<Snapshot>,
    memory: watch::Sender<Memory>,
    /// As a provider, and as a requester.
    disturbances: Arc<[Notify; 2]>,
}

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) kept: Vec<(Role, Reservation)>,
    /// The ids of all that it was asked to keep, again and again.
    pub(crate) asked: Vec<String>,
    /// The ids of all that it gave back.
    pub(crate) given_back: Vec<String>,
    /// Why it keeps nothing for others.
    pub(crate) refuses: Option<String>,
    /// How often it fails before it works.
    pub(crate) failures: usize,
    /// How publishing went, each time.
    pub(crate) told: Vec<bool>,
}

/// An agent that runs.
pub(crate) struct Running {
    pub(crate) ended: JoinHandle<Result<(), Error>>,
    stop: oneshot::Sender<()>,
}

impl Cluster {
    pub(crate) fn new(cpu: &str, memory: &str) -> Self {
        let all = Resources::parse(cpu, memory, None, None).unwrap();
        let snapshot = Snapshot { capacity: all, allocatable: all, ..Snapshot::default() };
        Self {
            has: watch::Sender::new(snapshot),
            memory: watch::Sender::new(Memory::default()),
            disturbances: Arc::default(),
        }
    }

    /// An agent for it, which publishes without a change only every hour or as it is told.
    pub(crate) fn agent(&self, name: &str, broker: Arc<dyn BrokerCommunicator>) -> Running {
        self.agent_every(name, broker, Duration::from_hours(1))
    }

    pub(crate) fn agent_every(
        &self,
        name: &str,
        broker: Arc<dyn BrokerCommunicator>,
        every: Duration,
    ) -> Running {
        self.patient_agent(name, broker, every, Duration::from_millis(100))
    }

    /// One that waits so long after a first failure.
    pub(crate) fn patient_agent(
        &self,
        name: &str,
        broker: Arc<dyn BrokerCommunicator>,
        every: Duration,
        pause: Duration,
    ) -> Running {
        let changes = tokio::sync::Mutex::new(self.has.subscribe());
        let collector = Collector { cluster: self.clone(), changes };
        let agent = Agent::builder(name.parse().unwrap(), broker, collector, self.clone())
            .schedule(Schedule::jittered(every))
            .debounce(Duration::from_millis(10))
            .pause(pause)
            .build();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(agent.run(async { drop(stopped.await) }));
        Running { ended, stop }
    }

    pub(crate) fn now_has(&self, cpu: &str, memory: &str) {
        let all = Resources::parse(cpu, memory, None, None).unwrap();
        self.has.send_modify(|has| (has.capacity, has.allocatable) = (all, all));
    }

    /// The workloads of another cluster run on it.
    pub(crate) fn lets_use(&self, requester: &str, cpu: &str, memory: &str) {
        let used = Resources::parse(cpu, memory, None, None).unwrap();
        self.has.send_modify(|has| {
            has.allocated = used;
            has.consumed = [(requester.parse().unwrap(), used)].into();
        });
    }

    /// Someone else undoes all that it keeps.
    pub(crate) fn disturb(&self) {
        self.with(|memory| memory.kept.clear());
        self.disturbances[0].notify_one();
    }

    /// Someone else keeps what they have reserved themselves.
    pub(crate) fn uses(&self, promise: &Reservation) {
        self.with(|memory| memory.kept.push((Role::Requester, promise.clone())));
        self.disturbances[1].notify_one();
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        let mut result = None;
        self.memory.send_modify(|memory| result = Some(change(memory)));
        result.unwrap()
    }

    /// Waits until its memory is as expected.
    pub(crate) async fn until(&self, expected: impl FnMut(&Memory) -> bool) {
        let mut memory = self.memory.subscribe();
        drop(within(memory.wait_for(expected)).await.unwrap());
    }
}

impl Memory {
    /// Whether this is all that it keeps.
    pub(crate) fn keeps(&self, role: Role, id: &str) -> bool {
        matches!(&self.kept[..], [(side, promise)] if *side == role && promise.id == id)
    }
}

impl Running {
    pub(crate) async fn stop(self) -> Result<(), Error> {
        self.stop.send(()).unwrap();
        within(self.ended).await.unwrap()
    }
}

pub(crate) async fn within<T>(doing: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, doing).await.expect("it is stuck")
}

struct Collector {
    cluster: Cluster,
    changes: tokio::sync::Mutex<watch::Receiver<Snapshot>>,
}

impl ResourceCollector for Collector {
    fn collect(&self) -> Doing<'_, Snapshot> {
        Box::pin(async { Ok(self.cluster.has.borrow().clone()) })
    }

    fn changed(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async { self.changes.lock().await.changed().await.unwrap() })
    }

    fn told(&self, outcome: Result<(), &Error>) {
        self.cluster.with(|memory| memory.told.push(outcome.is_ok()));
    }
}

impl InstructionHandler for Cluster {
    fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>> {
        Box::pin(async move {
            let memory = self.memory.borrow();
            let of_role = memory.kept.iter().filter(|(side, _)| *side == role);
            Ok(of_role.map(|(_, promise)| promise.clone()).collect())
        })
    }

    fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a> {
        Box::pin(async move {
            self.with(|memory| {
                memory.asked.push(promise.id.clone());
                if let Some(reason) = &memory.refuses {
                    return Err(NotKept::Refused(reason.clone()));
                }
                if memory.failures > 0 {
                    memory.failures -= 1;
                    return Err(NotKept::Failed("not yet".into()));
                }
                memory.kept.retain(|(_, kept)| kept.id != promise.id);
                memory.kept.push((role, promise.clone()));
                Ok(())
            })
        })
    }

    fn give_back<'a>(&'a self, role: Role, promise: &'a Reservation) -> Doing<'a, ()> {
        Box::pin(async move {
            self.with(|memory| {
                memory.given_back.push(promise.id.clone());
                memory.kept.retain(|(side, kept)| (*side, &kept.id) != (role, &promise.id));
            });
            Ok(())
        })
    }

    fn disturbed(&self, role: Role) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        match role {
            Role::Provider => Box::pin(self.disturbances[0].notified()),
            Role::Requester => Box::pin(self.disturbances[1].notified()),
        }
    }
}
