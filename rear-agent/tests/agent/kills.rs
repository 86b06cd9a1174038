//! The agent ends between any two things that it does to the world, and the next one finishes them, once.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rear_agent::steps::ALL;
use rear_agent_sdk::BrokerCommunicator;
use rear_testbed::eventually;

use super::agent::Start;
use super::background::block_on;
use super::interruptions::live;
use super::peering::{ACTIVE, Liqoctl};
use super::requests::{OBJECT, World, provider, requester};

/// How often it is looked whether an agent has ended: as a kubelet does, only sooner.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const ABORTED: i32 = 6;

/// An agent that is started again when it ends, as a kubelet does. Dropping it kills it.
struct Restarted(Arc<Mutex<State>>);

struct State {
    child: Child,
    deaths: Vec<Option<i32>>,
    is_over: bool,
}

impl Restarted {
    /// The first one ends at a place; later ones do not.
    fn dying_at(start: &Start<'_>, place: &str) -> Self {
        let mut command = start.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let first = command.env("REAR_AGENT_DIES_AT", place).spawn().unwrap();
        command.env_remove("REAR_AGENT_DIES_AT");
        let state = State { child: first, deaths: Vec::new(), is_over: false };
        let state = Arc::new(Mutex::new(state));
        let watched = state.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(LOOK_EVERY);
                let mut state = watched.lock().unwrap();
                if state.is_over {
                    return;
                }
                if let Some(ended) = state.child.try_wait().unwrap() {
                    state.deaths.push(ended.signal());
                    state.child = command.spawn().unwrap();
                }
            }
        });
        Self(state)
    }

    /// The signals of all its deaths; the first may come after the last of its work is seen.
    fn deaths(&self) -> Vec<Option<i32>> {
        let deaths = || {
            let deaths = self.0.lock().unwrap().deaths.clone();
            (!deaths.is_empty()).then_some(deaths)
        };
        eventually(deaths).unwrap_or_default()
    }
}

impl Drop for Restarted {
    fn drop(&mut self) {
        let mut state = self.0.lock().unwrap();
        state.is_over = true;
        // It may have ended by itself.
        drop(state.child.kill());
        drop(state.child.wait());
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
    let _other = start(other).run();
    let dying = Restarted::dying_at(&start(dying), place);
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
