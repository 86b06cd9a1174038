//! How many durable reservations a second, and how long each waits, beside a raw file that is synced in groups.
//!
//! The raw file is what a disk can do at best: preallocated, written in one piece, one `fdatasync` for all that
//! waits, commands through the same channel. Ratios within one run are what counts.
// The ratios are printed: that is what the benchmark is for.
#![allow(clippy::print_stdout)]
// A benchmark measures time.
#![allow(clippy::disallowed_methods)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command, Policy};
use rear_store::clock::{Clock, SystemClock};
use rear_store::{Commit, RedbJournal, Store};

const CALLERS: [usize; 4] = [1, 8, 64, 256];

/// About what a reservation costs in a file: its record, its ledger row, its event.
const RAW_RECORD: usize = 512;

/// What the raw file is made of before anything is measured.
const RAW_FILE: usize = 64 << 20;

/// What was measured with so many callers at once.
struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

fn main() {
    let once = std::env::args().any(|argument| argument == "--test");
    let span = if once { Duration::from_millis(50) } else { Duration::from_secs(3) };
    let folder = tempfile::tempdir().expect("a folder");
    println!("callers  what        per second      p50       p99   of raw   p50 of raw");
    let mut throughput = Vec::new();
    for callers in CALLERS {
        let raw = measure_raw(folder.path(), callers, span);
        show(callers, "raw", &raw, &raw);
        for (name, commit) in [("two-phase", Commit::TwoPhase), ("one-phase", Commit::OnePhase)] {
            let ledger = measure_store(folder.path(), commit, callers, span);
            show(callers, name, &ledger, &raw);
            throughput.push((name, callers, ledger.per_second));
        }
    }
    for name in ["two-phase", "one-phase"] {
        let of = |wanted| throughput.iter().find(|(n, c, _)| *n == name && *c == wanted);
        if let (Some((.., one)), Some((.., many))) = (of(1), of(64)) {
            println!("{name}: 64 callers get {:.1} times as much done as one", many / one);
        }
    }
}

fn show(callers: usize, what: &str, measured: &Measured, raw: &Measured) {
    let Measured { per_second, p50, p99 } = measured;
    println!(
        "{callers:>7}  {what:<10} {per_second:>10.0} {p50:>10.1?} {p99:>9.1?} {:>7.0}% {:>10.2}x",
        100.0 * per_second / raw.per_second,
        p50.as_secs_f64() / raw.p50.as_secs_f64(),
    );
}

/// Callers that ask again as soon as they are answered, for some time.
fn rush(callers: usize, span: Duration, call: impl Fn(u64) + Sync) -> Measured {
    let (next, stop) = (AtomicU64::new(1), AtomicBool::new(false));
    let began = Instant::now();
    let mut waits: Vec<Duration> = thread::scope(|scope| {
        let caller = || {
            let mut waits = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let asked = Instant::now();
                call(next.fetch_add(1, Ordering::Relaxed));
                waits.push(asked.elapsed());
            }
            waits
        };
        let threads: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
        thread::sleep(span);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let elapsed = began.elapsed().as_secs_f64();
    waits.sort_unstable();
    let quantile = |per_cent: usize| waits[(waits.len() - 1) * per_cent / 100];
    #[allow(clippy::cast_precision_loss)]
    let per_second = waits.len() as f64 / elapsed;
    Measured { per_second, p50: quantile(50), p99: quantile(99) }
}

fn measure_store(folder: &Path, commit: Commit, callers: usize, span: Duration) -> Measured {
    let path = folder.join("ledger.redb");
    let journal = RedbJournal::create(&path, 1, commit).expect("a new ledger");
    let clock = SystemClock::default();
    let now = clock.read().wall;
    let store = Store::start(journal, Policy::default(), clock).expect("it starts");
    let advertise = |number: u32| Command::Advertise {
        cluster: cluster(&format!("provider-{number}")),
        advertisement: Box::new(advertisement("100000000", "1000Ti", now)),
        holding: None,
    };
    for number in 0..100 {
        store.submit(advertise(number)).expect("accepted");
    }
    let measured = rush(callers, span, |number| {
        let ask = Box::new(ask("requester", resources("1m", "1Mi")));
        let by = Actor::Cluster(cluster("requester"));
        let reserve = Command::Reserve { id: id(number.into()), ask, key: None, by };
        store.submit(reserve).expect("granted");
    });
    drop(store);
    std::fs::remove_file(&path).expect("it is there");
    measured
}

fn measure_raw(folder: &Path, callers: usize, span: Duration) -> Measured {
    let path = folder.join("raw");
    let file = File::create(&path).expect("a file");
    file.write_all_at(&vec![1; RAW_FILE], 0).expect("space");
    file.sync_all().expect("a disk");
    let (queue, waiting) = sync_channel::<SyncSender<()>>(4096);
    let writer = thread::spawn(move || write_raw(&file, &waiting));
    let measured = rush(callers, span, |_| {
        let (reply, answer) = sync_channel(1);
        queue.send(reply).expect("a writer");
        answer.recv().expect("an answer");
    });
    drop(queue);
    writer.join().expect("no panic");
    std::fs::remove_file(&path).expect("it is there");
    measured
}

fn write_raw(file: &File, waiting: &Receiver<SyncSender<()>>) {
    let mut offset = 0;
    while let Ok(first) = waiting.recv() {
        let mut replies = vec![first];
        replies.extend(waiting.try_iter());
        let bytes = vec![2; RAW_RECORD * replies.len()];
        if offset + bytes.len() > RAW_FILE {
            offset = 0;
        }
        file.write_all_at(&bytes, offset as u64).expect("space");
        file.sync_data().expect("a disk");
        offset += bytes.len();
        for reply in replies {
            reply.send(()).expect("a caller");
        }
    }
}
