//! A journal on a real etcd: several brokers on one ledger.

mod brokers;
mod faults;
mod handing;
mod histories;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Policy, Terms};
use rear_store::clock::{Clock, SystemClock};
use rear_store::etcd::{EtcdJournal, EtcdOptions};
use rear_store::verify::verify;
use rear_store::{Commit, Store, backup};
use rear_testbed::{Etcd, Members, eventually};
use tempfile::TempDir;

/// One node for all tests that only need one: each has a prefix of its own.
fn node() -> String {
    static NODE: OnceLock<Etcd> = OnceLock::new();
    NODE.get_or_init(|| Etcd::start(Members::One).unwrap()).endpoints().remove(0)
}

/// A place of its own in etcd, and a folder for the files of brokers.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) options: EtcdOptions,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(vec![node()])
    }

    pub(crate) fn on(endpoints: Vec<String>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("/place-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut options = EtcdOptions::new(endpoints, prefix);
        options.door = Some("127.0.0.1:0".to_owned());
        Self { folder: TempDir::new().unwrap(), options }
    }

    /// The journal of the only broker.
    pub(crate) fn open(&self, ledger: u128) -> EtcdJournal {
        self.open_as("a", ledger)
    }

    /// The journal of one broker.
    pub(crate) fn open_as(&self, name: &str, ledger: u128) -> EtcdJournal {
        let options = self.options.clone();
        EtcdJournal::open(options, &self.file(name), ledger, number(), Commit::OnePhase).unwrap()
    }

    /// The file of one broker.
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{name}.redb"))
    }
}

/// A number that was never used before.
pub(crate) fn number() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn start(place: &Place, name: &str) -> Store {
    Store::start(place.open_as(name, 7), Policy::default(), SystemClock::default()).unwrap()
}

fn advertise(store: &Store, cpu: &str) {
    let told = advertisement(cpu, "64Gi", SystemClock::default().read().wall);
    let cluster = cluster("p");
    let told = Command::Advertise { cluster, advertisement: Box::new(told), holding: None };
    store.submit(told).unwrap();
}

fn reserve(number: u128, key: Option<&str>) -> Command {
    let ask = Ask::new(cluster("r"), resources("1", "1Mi"), Terms::default()).unwrap();
    let key = key.map(|key| key.parse().unwrap());
    let by = Actor::Cluster(cluster("r"));
    Command::Reserve { id: id(number), ask: Box::new(ask), key, by }
}

fn release(number: u128) -> Command {
    Command::Release { id: id(number), by: Actor::Cluster(cluster("r")) }
}

/// Waits for a snapshot that ends after this entry.
fn snapshot_after(store: &Store, number: u64) {
    let made = || store.standing()?.snapshot.filter(|(_, at)| at.number > number);
    eventually(made).unwrap();
}

/// Every row of a store, to the byte.
fn dump(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    backup::write(&*store.reader(), &mut bytes).unwrap();
    bytes
}

/// Waits until all show the same, to the byte, and looks at every row.
fn end_the_same(stores: &[&Store]) {
    let same = || {
        let dumps: Vec<Vec<u8>> = stores.iter().map(|store| dump(store)).collect();
        dumps.windows(2).all(|pair| pair[0] == pair[1]).then_some(())
    };
    let positions = || stores.iter().map(|store| store.view().position().to_string());
    eventually(same).unwrap_or_else(|| panic!("{}", positions().collect::<Vec<_>>().join(" ")));
    for store in stores {
        assert_eq!(verify(&*store.reader().snapshot().unwrap()).findings, []);
    }
}
