//! A stage for claims about a store: clocks that a test sets, a journal that it breaks, commands in short.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Duration, Policy, Resources, Terms, Timestamp};
use rear_store::clock::Clock;
use rear_store::timekeeper::Clocks;
use rear_store::{Batch, Contents, Journal, JournalError, Memory, Reader, Store};

/// Clocks that a test sets, in seconds: both at once, so that nobody reads one before and one after.
#[derive(Clone)]
pub(crate) struct Hands(Arc<Mutex<(i64, i64)>>);

impl Hands {
    pub(crate) fn start() -> Self {
        Self(Arc::new(Mutex::new((1_800_000_000, 0))))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.read().wall
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.set(|(wall, monotonic)| (wall + seconds, monotonic + seconds));
    }

    pub(crate) fn jump(&self, seconds: i64) {
        self.set(|(wall, monotonic)| (wall + seconds, monotonic));
    }

    fn set(&self, change: impl FnOnce((i64, i64)) -> (i64, i64)) {
        let mut clocks = self.0.lock().unwrap();
        *clocks = change(*clocks);
    }
}

impl Clock for Hands {
    fn read(&self) -> Clocks {
        let (wall, monotonic) = *self.0.lock().unwrap();
        Clocks { wall: Timestamp::from_seconds(wall), monotonic: Duration::from_seconds(monotonic) }
    }
}

/// A journal that a test looks into, holds up, and breaks.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: Arc<Mutex<Memory>>,
    commits: Arc<AtomicUsize>,
    last: Arc<Mutex<Option<Batch>>>,
    /// How many commits succeed before one fails; negative: never.
    until_failure: Arc<AtomicI64>,
    /// Whether it fails for good.
    for_good: bool,
    /// Each commit waits for a word.
    gate: Option<Arc<Mutex<Receiver<()>>>>,
    /// Each commit is durable before it waits.
    late: bool,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(Mutex::new(Memory::new(7, 1, 1).unwrap())),
            commits: Arc::default(),
            last: Arc::default(),
            until_failure: Arc::new(AtomicI64::new(-1)),
            for_good: false,
            gate: None,
            late: false,
        }
    }

    pub(crate) fn that_fails_for_good() -> Self {
        Self { for_good: true, ..Self::new() }
    }

    pub(crate) fn gated() -> (Self, SyncSender<()>) {
        let (open, gate) = sync_channel(1000);
        (Self { gate: Some(Arc::new(Mutex::new(gate))), ..Self::new() }, open)
    }

    pub(crate) fn that_returns_late() -> (Self, SyncSender<()>) {
        let (journal, open) = Self::gated();
        (Self { late: true, ..journal }, open)
    }

    fn wait_for_a_word(&self) {
        if let Some(gate) = &self.gate {
            gate.lock().unwrap().recv().unwrap();
        }
    }

    pub(crate) fn fail_after(&self, commits: i64) {
        self.until_failure.store(commits, Ordering::SeqCst);
    }

    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    /// What was committed last.
    pub(crate) fn last(&self) -> Batch {
        self.last.lock().unwrap().clone().expect("something was committed")
    }

    pub(crate) fn contents(&self) -> Contents {
        self.reader().load().unwrap()
    }
}

impl Journal for Watched {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        if !self.late {
            self.wait_for_a_word();
        }
        let left = self.until_failure.load(Ordering::SeqCst);
        if left == 0 {
            if !self.for_good {
                self.until_failure.store(-1, Ordering::SeqCst);
            }
            return Err(JournalError::Storage("the disk is full".into()));
        }
        if left > 0 {
            self.until_failure.store(left - 1, Ordering::SeqCst);
        }
        let committed = self.inner.lock().unwrap().commit(batch);
        *self.last.lock().unwrap() = Some(batch.clone());
        if self.late {
            self.wait_for_a_word();
        }
        committed
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.inner.lock().unwrap().reader()
    }
}

pub(crate) fn start(journal: impl Journal + 'static, hands: &Hands) -> Store {
    Store::start(journal, Policy::default(), hands.clone()).unwrap()
}

pub(crate) fn advertise(cpu: &str, memory: &str, hands: &Hands) -> Command {
    Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement(cpu, memory, hands.now())),
        holding: None,
    }
}

pub(crate) fn reserve_with(number: u128, cpu: &str, terms: Terms) -> Command {
    let ask = Ask::new(cluster("r"), resources(cpu, "1Mi"), terms).unwrap();
    Command::Reserve {
        id: id(number),
        ask: Box::new(ask),
        key: None,
        by: Actor::Cluster(cluster("r")),
    }
}

pub(crate) fn reserve(number: u128, cpu: &str) -> Command {
    reserve_with(number, cpu, Terms::default())
}

/// A promise that ends after so many seconds.
pub(crate) fn reserve_for(number: u128, cpu: &str, seconds: i64) -> Command {
    let duration = Some(Duration::from_seconds(seconds));
    reserve_with(number, cpu, Terms { duration, ..Terms::default() })
}

pub(crate) fn release(number: u128) -> Command {
    Command::Release { id: id(number), by: Actor::Cluster(cluster("r")) }
}

/// A sign of life of a cluster that is known: it changes nothing, and its answer shows that all before it is done.
pub(crate) fn hear() -> Command {
    Command::Hear { cluster: cluster("p") }
}

pub(crate) fn live_total(contents: &Contents) -> Resources {
    contents.ledgers.iter().find(|(id, _)| *id == cluster("p")).unwrap().1
}
