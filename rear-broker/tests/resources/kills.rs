//! The broker ends after every single write, on the API server or in the ledger, and the next one finishes the rest, once.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rear_broker::kubernetes::steps::ALL;
use rear_testbed::eventually;

use super::process::{program, started};
use super::stage::{Stage, arguments, cores, verify};

/// How often it is looked whether a broker has ended: as a kubelet does, only sooner.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const ABORTED: i32 = 6;

/// First it ends after every write, then after every second one and so on, which lets other writes come together.
const LIVES: usize = 3;

/// A broker that is started again when it ends, as a kubelet does. Dropping it kills it.
struct Restarted(Arc<Mutex<State>>);

struct State {
    child: Child,
    log: Arc<Mutex<String>>,
    /// Where it has ended.
    places: Vec<String>,
    is_over: bool,
}

impl Restarted {
    /// Each of them ends after so many writes.
    fn dying_after(on: &Stage, writes: usize) -> Self {
        let flags = arguments(&on.server, &[]);
        let flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
        let folder = on.broker.certificates().parent().unwrap().to_owned();
        let start = move || {
            let mut command = program(&folder, &flags);
            started(command.env("REAR_BROKER_DIES_AFTER", writes.to_string()))
        };
        let ledger = on.broker.ledger();
        let (child, _, log) = start();
        let state = State { child, log, places: Vec::new(), is_over: false };
        let state = Arc::new(Mutex::new(state));
        let watched = state.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(LOOK_EVERY);
                let mut state = watched.lock().unwrap();
                if state.is_over {
                    return;
                }
                let Some(ended) = state.child.try_wait().unwrap() else { continue };
                assert_eq!(ended.signal(), Some(ABORTED), "{}", state.log.lock().unwrap());
                let place = eventually(|| place_in(&state.log.lock().unwrap()));
                state.places.push(place.expect("it says where it ends"));
                verify(&ledger);
                (state.child, _, state.log) = start();
            }
        });
        Self(state)
    }

    fn places(&self) -> Vec<String> {
        self.0.lock().unwrap().places.clone()
    }
}

fn place_in(log: &str) -> Option<String> {
    log.lines().find_map(|line| line.strip_prefix("ends at ")).map(str::to_owned)
}

impl Drop for Restarted {
    fn drop(&mut self) {
        // The thread may have failed: that is told below.
        let mut state = self.0.lock().unwrap();
        state.is_over = true;
        // It may have ended by itself.
        drop(state.child.kill());
        drop(state.child.wait());
    }
}

/// All of it is written: the broker has written the rest of an object that it made itself.
fn lend(stage: &Stage, cpu: &str) {
    let all = format!("{{cpu: '{cpu}', memory: 64Gi}}");
    let object = format!(
        "apiVersion: broker.fluidos.eu/v1alpha1\nkind: ClusterAdvertisement\nmetadata: {{name: paris-adv}}\n\
         spec: {{clusterID: paris, resources: {{capacity: {all}, allocatable: {all}}}}}\n"
    );
    stage.apply("paris", &object);
}

/// From an advertisement through a reservation, in use, told elsewhere, and back, while brokers end all the time.
fn a_life(stage: &Stage, writes: usize) {
    let name = format!("r{writes}");
    let capacity = format!("{}", 40 + writes);
    lend(stage, &capacity);
    stage.until_left("paris", "paris", &capacity);
    stage.wish("rome", &name, &cores("3"));
    stage.until_phase("rome", &name, "Reserved");
    let id = stage.told("rome", &name, "reservationID");
    stage.until_phase("paris", &id, "Reserved");
    stage.until_left("paris", "paris", &format!("{}", 37 + writes));
    let object = format!("reservation/{name}");
    let finalizer = "reservation.broker.fluidos.eu/finalizer";
    stage.until("rome", &object, ".metadata.finalizers[0]", finalizer);
    stage.say("rome", &name, "RequesterActive", "");
    stage.until_phase("rome", &name, "Active");
    stage.until_phase("paris", &id, "Active");
    stage.ask(&["delete", "clusteradvertisement", "paris-adv", "-n", "paris", "--wait=false"]);
    stage.until_left("paris", "paris", &format!("{}", 37 + writes));
    // An operator takes the provider's namespace away, and gives it back.
    stage.ask(&["label", "namespace", "paris", "broker.fluidos.eu/cluster-"]);
    stage.until_gone("paris", &format!("reservation/{id}"));
    stage.ask(&["label", "namespace", "paris", "broker.fluidos.eu/cluster=paris"]);
    stage.until_phase("paris", &id, "Active");
    stage.ask(&["delete", "reservation", &name, "-n", "rome", "--timeout=120s"]);
    stage.until_phase("paris", &id, "Released");
    stage.until_left("paris", "paris", &capacity);
}

/// Once nothing ends any more, the ledger has each reservation once, and it is over.
fn ended_once(stage: &Stage, lives: usize) {
    let all = stage.broker.administrator().get("/api/v1/reservations").expect(200);
    let phases = all.as_array().unwrap().iter().map(|kept| kept["status"]["phase"].as_str());
    assert_eq!(phases.collect::<Vec<_>>(), vec![Some("Released"); lives], "{all}");
    let paris = "clusteradvertisement/paris-adv";
    stage.until("paris", paris, ".spec.resources.reserved.cpu", "0");
}

#[test]
fn a_broker_that_ends_after_any_write_locks_and_releases_once() {
    let mut stage = Stage::bound(&["rome", "paris"]);
    let mut reached = BTreeSet::new();
    for writes in 1..=LIVES {
        stage.broker.stop();
        let dying = Restarted::dying_after(&stage, writes);
        a_life(&stage, writes);
        reached.extend(dying.places());
        drop(dying);
        stage.broker.restart();
        ended_once(&stage, writes);
    }
    let missed: Vec<_> = ALL.iter().filter(|place| !reached.contains(**place)).collect();
    assert!(missed.is_empty(), "it never ended at {missed:?}");
    stage.end();
}
