//! The agent ends between any two things that it does to the world, and the next one finishes them, once.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rear_agent::steps::ALL;
use rear_agent_sdk::BrokerCommunicator;
use rear_testbed::{Revived, eventually};

use super::agent::Start;
use super::background::block_on;
use super::interruptions::live;
use super::peering::{ACTIVE, Liqoctl};
use super::requests::{OBJECT, World, provider, requester};

/// Where an agent is to end.
const DIES_AT: &str = "REAR_AGENT_DIES_AT";
const ABORTED: i32 = 6;

/// An agent of which the first ends at a place, and those that follow do not.
struct Mortal {
    deaths: Arc<Mutex<Vec<Option<i32>>>>,
    _revived: Revived,
}

impl Mortal {
    fn dying_at(start: &Start<'_>, place: &str) -> Self {
        let mut command = start.command();
        command.stdout(Stdio::null()).stderr(Stdio::null()).env(DIES_AT, place);
        let deaths = Arc::<Mutex<Vec<_>>>::default();
        let counted = deaths.clone();
        let revived = Revived::start(move |ended| {
            if let Some(ended) = ended {
                counted.lock().unwrap().push(ended.signal());
                command.env_remove(DIES_AT);
            }
            command.spawn().unwrap()
        });
        Self { deaths, _revived: revived }
    }

    /// The signals of all its deaths; the first may come after the last of its work is seen.
    fn deaths(&self) -> Vec<Option<i32>> {
        let deaths = || Some(self.deaths.lock().unwrap().clone()).filter(|all| !all.is_empty());
        eventually(deaths).unwrap_or_default()
    }
}

/// One reservation from its request to its end, during which an agent ends once.
fn a_life(world: &World, liqoctl: &Liqoctl, place: &str) {
    let (rome, paris) = (&world.rome, &world.paris);
    let of_provider = place.starts_with("promise");
    let start = |name| match name {
        "rome" => liqoctl.start(world),
        _ => Start::with(paris, &world.broker, "paris"),
    };
    let (dying, other) = if of_provider { ("paris", "rome") } else { ("rome", "paris") };
    if place == "advertisement-shown" {
        // Otherwise there may be nothing new to show.
        let doubt = r#"{"status":{"phase":"Pending"}}"#;
        let status = ["--subresource=status", "--type=merge", "-p", doubt, "-n", "rear-agent"];
        rome.ask(&[&["patch", OBJECT], &status[..]].concat());
    }
    let _other = start(other).run();
    let dying = Mortal::dying_at(&start(dying), place);
    rome.request(place, "requestedCPU: '2', requestedMemory: 4Gi, waitFor: 5m");
    rome.until_phase(place, "Reserved");
    let id = rome.told(place, "reservationName");
    rome.until(&requester(&id), ACTIVE, "True");
    paris.until(&provider(&id), ".status.enforced", "true");
    assert_eq!(live(&world.broker), std::slice::from_ref(&id), "{place}: one reservation");
    if place == "instruction-withdrawn" {
        // From elsewhere: otherwise the instruction goes with the request.
        block_on(world.broker.cluster("rome").release(&id)).unwrap();
        rome.until_phase(place, "Released");
    }
    rome.ask(&["delete", "rr", place, "--timeout=180s"]);
    rome.until_gone(&requester(&id));
    paris.until_gone(&provider(&id));
    assert_eq!(live(&world.broker), [""; 0], "{place}: everything is given back");
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
    assert_eq!(dying.deaths(), [Some(ABORTED)], "{place}: it ended there, once");
    let ended = || liqoctl.calls().iter().any(|call| call == "unpeer").then_some(());
    assert!(eventually(ended).is_some(), "{place}: the peering has ended");
}

#[test]
fn an_agent_that_ends_between_any_two_steps_leaves_them_to_the_next_one() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    drop((world.of_rome.take(), world.of_paris.take()));
    for place in ALL {
        liqoctl.forget_calls();
        a_life(&world, &liqoctl, place);
    }
}
