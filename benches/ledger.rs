//! Large ledgers: how long it takes to open one after a crash, how large its file gets, what a fleet costs in memory.
// The figures are printed: that is what the benchmark is for.
#![allow(clippy::print_stdout)]
// A benchmark measures time.
#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rear_engine::fleet::{Advertised, ClusterRecord};
use rear_engine::reservation::{Active, Pending, Phase};
use rear_engine::testing::fleets::{Load, fleet, name};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Change, Policy, Reservation, Resources, Strategy, Timestamp};
use rear_store::clock::SystemClock;
use rear_store::records::Table;
use rear_store::{Batch, Commit, Journal, Position, RedbJournal, Store};

/// How many rows are committed together while a ledger is made.
const COMMIT: usize = 10_000;

struct Sizes {
    reservations: u128,
    overwrites: u128,
    clusters: usize,
}

fn main() {
    let once = std::env::args().any(|argument| argument == "--test");
    let sizes = if once {
        Sizes { reservations: 10_000, overwrites: 20_000, clusters: 1_000 }
    } else {
        Sizes { reservations: 1_000_000, overwrites: 1_000_000, clusters: 100_000 }
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, commit) in [("two-phase", Commit::TwoPhase), ("one-phase", Commit::OnePhase)] {
        reopen(folder.path(), name, commit, sizes.reservations);
    }
    overwrite(folder.path(), sizes.overwrites);
    load_clusters(folder.path(), sizes.clusters);
}

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

fn timed<T>(operation: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = operation();
    (result, began.elapsed())
}

/// A ledger on whose provider so many promises live.
fn filled(path: &Path, commit: Commit, promises: u128) -> Ledger {
    let mut ledger = Ledger::create(path, commit);
    let provider = ClusterRecord {
        advertised: Some(Advertised {
            advertisement: advertisement("1000000000", "100000Ti", now()),
            received_at: now(),
        }),
        ..ClusterRecord::new(cluster("p"))
    };
    let mut changes = vec![Change::Cluster(Box::new(provider))];
    let mut total = Resources::NONE;
    for number in 1..=promises {
        changes.push(Change::Reservation(Arc::new(promise(number))));
        total = total.checked_add(each()).expect("small amounts");
        if changes.len() >= COMMIT || number == promises {
            changes.push(Change::Ledger { cluster: cluster("p"), total });
            ledger.commit(std::mem::take(&mut changes));
        }
    }
    ledger
}

fn each() -> Resources {
    resources("1m", "1Mi")
}

fn promise(number: u128) -> Reservation {
    let pending = Pending { id: id(number), ask: ask("r", each()), key: None };
    pending.grant(cluster("p"), now(), Some(now().plus("1h".parse().expect("a duration"))))
}

/// A ledger and its last position.
struct Ledger {
    journal: RedbJournal,
    position: Position,
}

impl Ledger {
    fn create(path: &Path, commit: Commit) -> Self {
        let journal = RedbJournal::create(path, 1, commit).expect("a new ledger");
        Self { journal, position: Position::start_of(1) }
    }

    fn commit(&mut self, changes: Vec<Change>) {
        self.position = self.position.next().expect("countable");
        let batch = Batch { changes, ..Batch::empty(self.position, now()) };
        self.journal.commit(&batch).expect("a disk");
    }
}

/// The file as a crash leaves it: everything synced, nothing closed.
fn reopen(folder: &Path, name: &str, commit: Commit, promises: u128) {
    let (path, copy) = (folder.join("ledger.redb"), folder.join("crashed.redb"));
    let ledger = filled(&path, commit, promises);
    std::fs::copy(&path, &copy).expect("space");
    // Otherwise the system writes the copy while it is read.
    std::fs::File::open(&copy).and_then(|file| file.sync_all()).expect("space");
    drop(ledger);
    let (journal, opening) = timed(|| RedbJournal::open(&copy, commit).expect("it opens"));
    let (contents, reading) = timed(|| journal.load().expect("readable"));
    let found = contents.reservations.len();
    let (fleet, building) = timed(|| contents.into_fleet(Policy::default(), now()).expect("sound"));
    println!(
        "{name}: {found} reservations after a crash: {opening:.1?} to open, {reading:.1?} to read \
         the tables, {building:.1?} to build the indexes"
    );
    drop((fleet, journal));
    for path in [path, copy] {
        std::fs::remove_file(path).expect("it is there");
    }
}

/// Promises that are renewed again and again: the file must not grow with its history.
fn overwrite(folder: &Path, overwrites: u128) {
    let path = folder.join("ledger.redb");
    let promises = overwrites / 10;
    let mut ledger = filled(&path, Commit::TwoPhase, promises);
    let before = on_disk(&path);
    let mut written = 0;
    while written < overwrites {
        let numbers = (0..1000).map(|offset| 1 + (written + offset) % promises);
        let changes = numbers.map(|number| {
            let since = now().plus("1s".parse().expect("a duration"));
            let phase = Phase::Active(Active { since });
            Change::Reservation(Arc::new(Reservation { phase, ..promise(number) }))
        });
        ledger.commit(changes.collect());
        written += 1000;
    }
    let contents = contents_of(&ledger.journal);
    let after = on_disk(&path);
    drop(ledger);
    let (store, starting) = timed(|| {
        let journal = RedbJournal::open(&path, Commit::TwoPhase).expect("it opens");
        Store::start(journal, Policy::default(), SystemClock::default()).expect("it starts")
    });
    drop(store);
    let restarted = on_disk(&path);
    #[allow(clippy::cast_precision_loss)]
    let ratio = |bytes: u64| bytes as f64 / contents as f64;
    println!(
        "{written} overwrites of {promises} reservations, {contents} bytes of rows: the file has \
         {:.2} times as many before, {:.2} after, {:.2} after a restart of {starting:.1?}",
        ratio(before),
        ratio(after),
        ratio(restarted),
    );
    std::fs::remove_file(path).expect("it is there");
}

/// What a file takes on the disk: redb makes it longer before it writes to it.
fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).expect("it is there").blocks() * 512
}

fn contents_of(journal: &RedbJournal) -> u64 {
    let rows = journal.reader().snapshot().expect("readable");
    let mut bytes = 0;
    for table in Table::ALL {
        rows.each_from(table, &[], &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(true)
        })
        .expect("readable");
    }
    bytes
}

fn load_clusters(folder: &Path, clusters: usize) {
    let path = folder.join("ledger.redb");
    let mut ledger = Ledger::create(&path, Commit::TwoPhase);
    let source = fleet(clusters, Load::Mixed, Strategy::Headroom, now());
    let records = (0..clusters).map(|number| {
        let kept = source.cluster(&name(number)).expect("it is there");
        Change::Cluster(Box::new(kept.record().clone()))
    });
    let changes: Vec<Change> = records.collect();
    drop(source);
    for chunk in changes.chunks(COMMIT) {
        ledger.commit(chunk.to_vec());
    }
    drop((changes, ledger));
    let before = resident();
    let ((), loading) = timed(|| {
        let journal = RedbJournal::open(&path, Commit::TwoPhase).expect("it opens");
        let store = Store::start(journal, Policy::default(), SystemClock::default());
        let store = store.expect("it starts");
        let counts = store.view().counts();
        let grown = resident().saturating_sub(before) >> 20;
        println!("{} clusters loaded, {grown} MiB more in memory", counts.clusters);
    });
    println!("loading {clusters} clusters took {loading:.1?}");
    std::fs::remove_file(path).expect("it is there");
}

/// How many bytes of memory this process has.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
