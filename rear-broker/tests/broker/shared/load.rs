//! Clients that reserve and release all the time, through the SDK, with retries and failover; they remember what they were
//! told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rear_agent_sdk::{BrokerCommunicator, Error, HttpCommunicator, Intent};
use rear_testbed::eventually;

use super::trio::Trio;

/// Clients at once.
const CLIENTS: usize = 6;

/// What all clients know.
#[derive(Default)]
struct Known {
    /// By the memory that was asked for, which tells one intent from another: the reservation, and whether it was given
    /// back.
    granted: Mutex<BTreeMap<u64, (String, bool)>>,
    succeeded: AtomicU64,
    /// The longest that a client has waited for an answer, in milliseconds.
    slowest: AtomicU64,
    /// Errors, by what they say.
    errors: Mutex<BTreeMap<String, u64>>,
    next: AtomicU64,
    paused: AtomicBool,
    over: AtomicBool,
    busy: AtomicUsize,
}

/// Clients that run until they are dropped.
pub(crate) struct Load {
    known: Arc<Known>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(trio: &Trio) -> Self {
        let known = Arc::<Known>::default();
        let threads = (0..CLIENTS).map(|number| {
            let certificates = trio.folder.path().join(format!("client-{number}"));
            trio.authority.cluster("paris").write(&certificates, &trio.authority);
            let (addresses, known) = (trio.addresses_from(number % 3), known.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let broker = HttpCommunicator::one_at_a_time(&addresses, certificates).unwrap();
                runtime.unwrap().block_on(work(&broker, &known));
            })
        });
        Self { threads: threads.collect(), known }
    }

    /// Waits until so many more have succeeded.
    pub(crate) fn go_on_for(&self, more: u64) {
        let target = self.succeeded() + more;
        eventually(|| (self.succeeded() >= target).then_some(()))
            .unwrap_or_else(|| panic!("nothing goes on: {:?}", self.known.errors.lock()));
    }

    pub(crate) fn succeeded(&self) -> u64 {
        self.known.succeeded.load(Ordering::SeqCst)
    }

    /// Lets everyone finish what they are at, compares what they were told with what is there, and lets them go on.
    pub(crate) fn check(&self, trio: &Trio) {
        trio.await_ready();
        self.known.paused.store(true, Ordering::SeqCst);
        let idle = || (self.known.busy.load(Ordering::SeqCst) == 0).then_some(());
        eventually(idle).expect("every caller gets an answer");
        trio.end_the_same();
        self.compare(trio);
        self.known.paused.store(false, Ordering::SeqCst);
    }

    fn compare(&self, trio: &Trio) {
        let there = reservations(trio);
        for (memory, (id, released)) in self.known.granted.lock().unwrap().iter() {
            let found = there.get(memory).unwrap_or_else(|| panic!("{id} is lost"));
            assert_eq!(found.len(), 1, "granted more than once: {found:?}");
            let (found, phase) = &found[0];
            assert_eq!(found, id);
            assert!(!released || phase == "Released", "{id} was given back and is {phase}");
        }
        for found in there.values() {
            assert_eq!(found.len(), 1, "granted more than once: {found:?}");
        }
    }

    /// The longest that a client has waited for an answer since this was last asked, in milliseconds: the time without
    /// service, for the figures that the tests print.
    pub(crate) fn slowest(&self) -> u64 {
        self.known.slowest.swap(0, Ordering::SeqCst)
    }

    /// What went wrong for clients, in their words.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        self.known.errors.lock().unwrap().clone()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.known.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            // One that panicked has told so.
            drop(thread.join());
        }
    }
}

/// By the memory of each, which is an intent's own.
fn reservations(trio: &Trio) -> BTreeMap<u64, Vec<(String, String)>> {
    let mut there = BTreeMap::<u64, Vec<_>>::new();
    let client = trio.administrator(0);
    let mut address = "/api/v1/reservations?consistency=linearizable".to_owned();
    loop {
        let answer = client.get(&address);
        for kept in answer.expect(200).as_array().unwrap() {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let memory = text(&kept["requestedResources"]["memory"]);
            let memory = memory.trim_end_matches("Ki").parse().unwrap_or(0);
            let kept = (text(&kept["id"]), text(&kept["status"]["phase"]));
            there.entry(memory).or_default().push(kept);
        }
        let Some(link) = answer.header("link") else { return there };
        link.trim_start_matches('<').split('>').next().unwrap().clone_into(&mut address);
    }
}

async fn work(broker: &HttpCommunicator, known: &Known) {
    let mut held = Vec::new();
    while !known.over.load(Ordering::SeqCst) {
        known.busy.fetch_add(1, Ordering::SeqCst);
        if known.paused.load(Ordering::SeqCst) {
            known.busy.fetch_sub(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        // An odd number of KiB is written as such, and not in a larger unit.
        let memory = 2 * known.next.fetch_add(1, Ordering::SeqCst) + 1;
        let request = rear_agent_sdk::request("1m", &format!("{memory}Ki"));
        let intent = Intent::new();
        if let Some(made) = until_answered(known, || broker.reserve(&request, &intent)).await {
            known.granted.lock().unwrap().insert(memory, (made.id.clone(), false));
            held.push((memory, made.id));
        }
        if held.len() > 5 {
            let (memory, id) = held.remove(0);
            if until_answered(known, || broker.release(&id)).await.is_some() {
                known.granted.lock().unwrap().insert(memory, (id, true));
            }
        }
        known.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Asks again what was not answered, under the same key, as any client may. `None` once the test is over.
async fn until_answered<T, F: Future<Output = Result<T, Error>>>(
    known: &Known,
    ask: impl Fn() -> F,
) -> Option<T> {
    let asked = tokio::time::Instant::now();
    while !known.over.load(Ordering::SeqCst) {
        match ask().await {
            Ok(answer) => {
                let waited = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
                known.slowest.fetch_max(waited, Ordering::SeqCst);
                known.succeeded.fetch_add(1, Ordering::SeqCst);
                return Some(answer);
            }
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                *known.errors.lock().unwrap().entry(error.to_string()).or_default() += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    None
}
