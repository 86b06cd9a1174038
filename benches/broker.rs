//! What the broker costs beside a handler that only echoes: processor time, waiting time, and how fast news travels.
//!
//! Broker, echo and store run in processes of their own (this program again), so that their processor time is
//! theirs alone. Ratios within one run are what counts.
// The figures are printed: that is what the benchmark is for.
#![allow(clippy::print_stdout)]
// A benchmark measures time.
#![allow(clippy::disallowed_methods)]

#[path = "broker/children.rs"]
mod children;
#[path = "broker/client.rs"]
mod client;
#[path = "broker/pki.rs"]
mod pki;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use children::Process;
use client::Connection;
use rear_benches::Times;

/// Callers at once.
const CALLERS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, folder, ..] = &arguments[..]
        && children::play(role, Path::new(folder))
    {
        return;
    }
    let once = arguments.iter().any(|argument| argument == "--test");
    let span = if once { Duration::from_millis(300) } else { Duration::from_secs(4) };
    let folder = tempfile::tempdir().expect("a folder");
    pki::write(folder.path());
    let echo = Process::start("--as-echo", folder.path());
    let reading = Process::start("--as-reading-echo", folder.path());
    let broker = Process::start("--as-broker", folder.path());
    for number in 0..CALLERS {
        Connection::open(&broker, folder.path(), &client::name(number)).advertise();
    }
    compare_advertisements(folder.path(), &echo, &reading, &broker, span);
    compare_reservations(folder.path(), &echo, &broker, span);
    drop(broker);
    time_news(folder.path(), if once { 5 } else { 500 });
}

/// What was measured of one process under load.
struct Load {
    /// Processor time for each request.
    cpu: Duration,
    times: Times,
}

/// Every caller asks again as soon as it is answered.
fn load(
    process: &Process,
    folder: &Path,
    span: Duration,
    call: impl Fn(&mut Connection) + Sync,
) -> Load {
    let stop = AtomicBool::new(false);
    let open = |number| Connection::open(process, folder, &client::name(number));
    let mut connections: Vec<Connection> = (0..CALLERS).map(open).collect();
    let before = process.cpu();
    let waits: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                scope.spawn(|| {
                    let mut waits = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let asked = Instant::now();
                        call(connection);
                        waits.push(asked.elapsed());
                    }
                    waits
                })
            })
            .collect();
        thread::sleep(span);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let used = process.cpu().saturating_sub(before);
    let mut times = Times::default();
    for wait in &waits {
        times.push(*wait);
    }
    Load { cpu: used / u32::try_from(waits.len()).unwrap_or(u32::MAX), times }
}

fn compare_advertisements(
    folder: &Path,
    echo: &Process,
    reading: &Process,
    broker: &Process,
    span: Duration,
) {
    let [echoed, read, told] =
        [echo, reading, broker].map(|process| load(process, folder, span, Connection::advertise));
    let times = |other: &Load| told.cpu.as_secs_f64() / other.cpu.as_secs_f64();
    println!(
        "unchanged advertisement: {:?} of processor, the echo {:?}: {:.2} times; an echo that reads the JSON and writes it again {:?}: {:.2} times",
        told.cpu,
        echoed.cpu,
        times(&echoed),
        read.cpu,
        times(&read),
    );
}

fn compare_reservations(folder: &Path, echo: &Process, broker: &Process, span: Duration) {
    let echoed = load(echo, folder, span, reserve);
    let made = load(broker, folder, span, reserve);
    let store = children::store_cpu(folder, span);
    let bare = echoed.cpu.as_secs_f64() + store.cpu.as_secs_f64();
    println!(
        "reservation: {:?} of processor, the echo {:?}, its share of the commit {:?}: {:.2} times",
        made.cpu,
        echoed.cpu,
        store.cpu,
        made.cpu.as_secs_f64() / bare,
    );
    let nanos = |times: &Times| Duration::from_nanos(times.percentile(99));
    let (own, other) = (nanos(&made.times), nanos(&echoed.times));
    println!(
        "p99 with {CALLERS} callers: {own:?}, the echo {other:?} and two commits {:?}: {:.2} times",
        2 * store.commit,
        own.as_secs_f64() / (other + 2 * store.commit).as_secs_f64(),
    );
}

fn reserve(connection: &mut Connection) {
    connection.reserve();
}

/// From the answer to the requester to the answer to the provider that waits: one caller, so that every
/// commit is one reservation's.
fn time_news(folder: &Path, rounds: usize) {
    let broker = Process::start("--as-fresh-broker", folder);
    let (provider, requester) = (client::name(0), client::name(1));
    Connection::open(&broker, folder, &provider).advertise();
    let mut waiting = Connection::open(&broker, folder, &provider);
    let mut asking = Connection::open(&broker, folder, &requester);
    let (mut news, mut commits) = (Times::default(), Times::default());
    let mut revision = waiting.instructions(None);
    for _ in 0..rounds {
        let after = revision.clone();
        let told = thread::scope(|scope| {
            let waiting = scope.spawn(|| (waiting.instructions(Some(&after)), Instant::now()));
            // Long enough for the question to be there.
            thread::sleep(Duration::from_millis(2));
            let asked = Instant::now();
            let address = asking.reserve();
            let answered = Instant::now();
            let (_, told) = waiting.join().expect("no panic");
            commits.push(answered - asked);
            // What the provider is told does not grow.
            asking.release(&address);
            told.saturating_duration_since(asked)
        });
        news.push(told);
        revision = waiting.instructions(None);
    }
    let p50 = |times: &Times| Duration::from_nanos(times.percentile(50));
    println!(
        "from the request to the provider's long poll {:?}, to the requester's answer {:?}: {:.2} times",
        p50(&news),
        p50(&commits),
        p50(&news).as_secs_f64() / p50(&commits).as_secs_f64()
    );
}
