//! How many reservations three brokers on three nodes of etcd grant in a second, beside what etcd itself can do.
//!
//! ```console
//! cargo run --release -p rear-store --features etcd-tests --example shared_figures
//! ```
//!
//! Everything runs on this machine, in this process but for etcd, in turns, because disks and neighbours change from one
//! moment to the next: as many compare-and-puts as 64 callers get done, as many records as one appender gets done in
//! entries of 64, then the store with 64 callers on one broker, and on three. What is told last is the median of the rounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Policy, Terms};
use rear_store::clock::{Clock, SystemClock};
use rear_store::etcd::{EtcdJournal, EtcdOptions};
use rear_store::meters::Counted;
use rear_store::{Commit, Store};
use rear_testbed::{Etcd, Members};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::Instant;

const CALLERS: usize = 64;
const RECORDS: usize = 64;
const SPAN: Duration = Duration::from_secs(2);
const ROUNDS: usize = 7;

/// What a reservation adds to an entry, generously.
const RECORD_BYTES: usize = 400;

fn main() {
    let etcd = Etcd::start(Members::Three).unwrap();
    let runtime = Runtime::new().unwrap();
    let (one, three) = (Brokers::start(&etcd, 1), Brokers::start(&etcd, 3));
    let mut ratios = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        let single = runtime.block_on(compare_and_puts(&etcd, round));
        println!("one compare-and-put for each, {CALLERS} callers: {}", single.line());
        let append = runtime.block_on(appends(&etcd));
        println!("entries of {RECORDS} records, one appender:     {}", append.line());
        let granted = [&one, &three].map(|brokers| {
            let granted = runtime.block_on(brokers.grant());
            println!("reservations, {CALLERS} callers, {}", brokers.line(&granted));
            granted.rate()
        });
        ratios[0].push(granted[0] / single.rate());
        ratios[1].push(granted[0] / append.rate());
        ratios[2].push(granted[1] / single.rate());
    }
    let [single, append, spread] = ratios.map(median);
    println!(
        "medians: one broker {single:.1} x compare-and-put and {:.0} % of the appender, three brokers {spread:.1} x compare-and-put",
        100.0 * append
    );
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// How long each of many things took.
struct Taken {
    micros: Vec<u64>,
    each: usize,
    span: Duration,
}

impl Taken {
    #[expect(clippy::cast_precision_loss, reason = "nobody needs so many digits")]
    fn rate(&self) -> f64 {
        (self.micros.len() * self.each) as f64 / self.span.as_secs_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody needs so many digits")]
    fn line(&self) -> String {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable();
        let at = |share: usize| sorted[(sorted.len() - 1) * share / 100] as f64 / 1000.0;
        format!("{:.0}/s, p50 {:.1} ms, p99 {:.1} ms", self.rate(), at(50), at(99))
    }
}

async fn compare_and_puts(etcd: &Etcd, round: usize) -> Taken {
    let began = Instant::now();
    let callers = (0..CALLERS).map(|caller| {
        let endpoints = etcd.endpoints();
        tokio::spawn(async move {
            let node = &endpoints[caller % endpoints.len()];
            let mut client = Client::connect([node], None).await.unwrap();
            let mut micros = Vec::new();
            for number in 0_u64.. {
                let asked = Instant::now();
                let key = format!("/single/{round}/{caller}/{number}");
                let txn = Txn::new()
                    .when([Compare::create_revision(key.clone(), CompareOp::Equal, 0)])
                    .and_then([TxnOp::put(key, vec![7; RECORD_BYTES], None)]);
                assert!(client.txn(txn).await.unwrap().succeeded());
                micros.push(u64::try_from(asked.elapsed().as_micros()).unwrap());
                if began.elapsed() > SPAN {
                    break;
                }
            }
            micros
        })
    });
    let mut micros = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        micros.extend(caller.await.unwrap());
    }
    Taken { micros, each: 1, span: began.elapsed() }
}

async fn appends(etcd: &Etcd) -> Taken {
    let began = Instant::now();
    let mut client = Client::connect([etcd.endpoints().remove(0)], None).await.unwrap();
    client.put("/bare/head", "0", None).await.unwrap();
    let mut micros = Vec::new();
    for number in 0_u64.. {
        let asked = Instant::now();
        let (before, after) = (number.to_string(), (number + 1).to_string());
        let entry = vec![7; RECORDS * RECORD_BYTES];
        let txn =
            Txn::new().when([Compare::value("/bare/head", CompareOp::Equal, before)]).and_then([
                TxnOp::put(format!("/bare/{after:0>20}"), entry, None),
                TxnOp::put("/bare/head", after, None),
            ]);
        assert!(client.txn(txn).await.unwrap().succeeded());
        micros.push(u64::try_from(asked.elapsed().as_micros()).unwrap());
        if began.elapsed() > SPAN {
            break;
        }
    }
    Taken { micros, each: RECORDS, span: began.elapsed() }
}

/// Brokers on one ledger.
struct Brokers {
    stores: Vec<Arc<Store>>,
    /// The number of the next reservation.
    next: Arc<AtomicU64>,
    _folder: TempDir,
}

impl Brokers {
    fn start(etcd: &Etcd, brokers: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let start = |broker: usize| {
            let mut endpoints = etcd.endpoints();
            endpoints.rotate_left(broker % 3);
            let mut options = EtcdOptions::new(endpoints, format!("/ledger-of-{brokers}"));
            options.door = Some("127.0.0.1:0".to_owned());
            let path = folder.path().join(format!("{broker}.redb"));
            let number = u128::try_from(broker + 1).unwrap();
            let journal = EtcdJournal::open(options, &path, 7, number, Commit::OnePhase).unwrap();
            Arc::new(Store::start(journal, Policy::default(), SystemClock::default()).unwrap())
        };
        let stores: Vec<Arc<Store>> = (0..brokers).map(start).collect();
        // Brokers look every few seconds who else is there.
        while stores.iter().any(|store| store.standing().unwrap().brokers != brokers) {
            thread::sleep(Duration::from_millis(100));
        }
        let told = advertisement("1000000", "1Pi", SystemClock::default().read().wall);
        let cluster = cluster("p");
        let told = Command::Advertise { cluster, advertisement: Box::new(told), holding: None };
        stores[0].submit(told).unwrap();
        Self { stores, next: Arc::new(AtomicU64::new(1)), _folder: folder }
    }

    /// Callers are tasks here as they are above, and as requests are in a broker.
    async fn grant(&self) -> Taken {
        let over = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let callers = (0..CALLERS).map(|caller| {
            let store = self.stores[caller % self.stores.len()].clone();
            let (next, over) = (self.next.clone(), over.clone());
            tokio::spawn(async move { ask(&store, &next, &over).await })
        });
        let callers: Vec<_> = callers.collect();
        tokio::time::sleep(SPAN).await;
        over.store(true, Ordering::SeqCst);
        let mut micros = Vec::new();
        for caller in callers {
            micros.extend(caller.await.unwrap());
        }
        Taken { micros, each: 1, span: began.elapsed() }
    }

    /// A round, and what the brokers did in all rounds so far.
    fn line(&self, granted: &Taken) -> String {
        let counts = self.stores.iter().map(|store| store.meters().read());
        let sum =
            |(c, l, h), next: Counted| (c + next.commits, l + next.lost, h + next.handed_over);
        let (commits, lost, handed) = counts.fold((0, 0, 0), sum);
        let so_far = format!(
            "so far {commits} entries, {lost} decided again, {handed} commands handed over"
        );
        format!("{} brokers: {}; {so_far}", self.stores.len(), granted.line())
    }
}

async fn ask(store: &Store, next: &AtomicU64, over: &AtomicBool) -> Vec<u64> {
    let mut micros = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let requester = cluster(&format!("r-{}", number % 64));
        let ask = Ask::new(requester.clone(), resources("1m", "1Mi"), Terms::default()).unwrap();
        let key = Some(format!("key-{number}").parse().unwrap());
        let by = Actor::Cluster(requester);
        let asked = Instant::now();
        let command = Command::Reserve { id: id(number.into()), ask: Box::new(ask), key, by };
        let (told, answer) = oneshot::channel();
        // Nobody goes away here before they are told.
        store.submit_with(command, |outcome| drop(told.send(outcome)));
        answer.await.unwrap().unwrap();
        micros.push(u64::try_from(asked.elapsed().as_micros()).unwrap());
    }
    micros
}
