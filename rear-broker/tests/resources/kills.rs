//! The broker ends after every single write, on the API server or in the ledger, and the next one finishes the rest, once.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, Mutex};

use rear_broker::kubernetes::steps::ALL;
use rear_testbed::{Revived, eventually};

use super::process::{program, started};
use super::stage::{Stage, arguments, cores, verify};

const ABORTED: i32 = 6;

/// First it ends after every write, then after every second one and so on, which lets other writes come together.
const LIVES: usize = 3;

/// Brokers that end after so many writes, one after the other, and the places where they have ended.
struct Mortal {
    places: Arc<Mutex<Vec<String>>>,
    _revived: Revived,
}

impl Mortal {
    fn dying_after(on: &Stage, writes: usize) -> Self {
        let flags = arguments(&on.server, &[]);
        let flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
        let folder = on.broker.certificates().parent().unwrap().to_owned();
        let ledger = on.broker.ledger();
        let places = Arc::<Mutex<Vec<_>>>::default();
        let noted = places.clone();
        let mut log = Arc::<Mutex<String>>::default();
        let revived = Revived::start(move |ended| {
            if let Some(ended) = ended {
                assert_eq!(ended.signal(), Some(ABORTED), "{}", log.lock().unwrap());
                let place = eventually(|| place_in(&log.lock().unwrap()));
                noted.lock().unwrap().push(place.expect("it says where it ends"));
                verify(&ledger);
            }
            let mut command = program(&folder, &flags);
            let (child, _, says) =
                started(command.env("REAR_BROKER_DIES_AFTER", writes.to_string()));
            log = says;
            child
        });
        Self { places, _revived: revived }
    }

    fn places(&self) -> Vec<String> {
        self.places.lock().unwrap().clone()
    }
}

fn place_in(log: &str) -> Option<String> {
    log.lines().find_map(|line| line.strip_prefix("ends at ")).map(str::to_owned)
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
        let dying = Mortal::dying_after(&stage, writes);
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
