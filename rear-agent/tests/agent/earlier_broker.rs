//! The agent at a broker of the earlier system: it reserves and keeps, sends that broker's locks back, and asks nothing twice.

use std::process::Stdio;

use rear_testbed::eventually;
use serde_json::{Value, json};

use super::agent::{Agent, Start};
use super::background::in_background;
use super::pki::Authority;
use super::requests::{OBJECT, provider, requester};
use super::site::Site;
use super::stand_in::StandIn;

const RESERVE: &str = "POST /api/v1/reservations";

/// That broker, Rome that has 16 cores, and Paris that asks.
struct World {
    _agents: [Agent; 2],
    rome: Site,
    paris: Site,
    broker: StandIn,
}

impl World {
    fn start() -> Self {
        let authority = Authority::new();
        let identities = [authority.cluster("rome"), authority.cluster("paris")];
        let sites = [Site::with_nodes(&[("a", "16", "64Gi")]), Site::start()];
        for (site, identity) in sites.iter().zip(&identities) {
            identity.write(&site.server.folder().join("certificates"), &authority);
        }
        let broker = in_background(async move { StandIn::start(&authority).await });
        let agents = [0, 1].map(|index| {
            let folder = sites[index].server.folder().join("certificates");
            Start::towards(&sites[index], broker.address, &folder).run()
        });
        let [rome, paris] = sites;
        for site in [&rome, &paris] {
            site.until(OBJECT, ".status.published", "true");
        }
        Self { _agents: agents, rome, paris, broker }
    }

    /// What that broker has of Rome.
    fn advertised(&self) -> Value {
        self.broker.state.lock().unwrap().advertisements["rome"].clone()
    }
}

#[test]
fn requests_are_reserved_and_kept_at_a_broker_of_the_earlier_system() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    paris.request("a", "requestedCPU: '2', requestedMemory: 4Gi");
    paris.until_phase("a", "Reserved");
    assert_eq!(paris.told("a", "targetClusterID"), "rome");
    let id = paris.told("a", "reservationName");
    paris.until(&requester(&id), ".status.delivered", "true");
    rome.until(&provider(&id), ".status.enforced", "true");
    rome.until(OBJECT, ".spec.resources.available.cpu", "14");
    // Told again after the promise was kept, and that broker still has its lock.
    let told = eventually(|| {
        let shown = world.advertised();
        (shown["resources"]["available"]["cpu"] == "14").then_some(shown)
    });
    let told = told.expect("it is told what is left");
    assert_eq!(told["resources"]["reserved"], json!({"cpu": "2", "memory": "4Gi"}));
    // It has no release: the request goes all the same, and the promise ends at its time.
    paris.ask(&["delete", "rr", "a", "--timeout=120s"]);
    paris.until_gone(&requester(&id));
    assert_eq!(world.broker.count(RESERVE), 1);
    // Also if that has to be tried later.
    paris.request("b", "requestedCPU: '1', requestedMemory: 1Gi");
    paris.until_phase("b", "Reserved");
    let id = paris.told("b", "reservationName");
    paris.until(&requester(&id), ".status.delivered", "true");
    let wanted = "rear.fluidos.eu/release=wanted";
    paris.ask(&["annotate", &requester(&id), "-n", "rear-agent", wanted]);
    paris.until_gone(&requester(&id));
}

#[test]
fn a_request_that_waits_is_not_asked_for_once_more_when_it_goes() {
    let world = World::start();
    let asked = || world.broker.count(RESERVE);
    world.broker.state.lock().unwrap().is_full = true;
    world.paris.request("a", "requestedCPU: '2', requestedMemory: 4Gi, waitFor: 10m");
    world.paris.until_phase("a", "Pending");
    let before = asked();
    eventually(|| (asked() > before).then_some(())).expect("it is asked again every few seconds");
    let last = asked();
    world.paris.ask(&["delete", "rr", "a", "--timeout=120s"]);
    assert_eq!(asked(), last, "there are no keys: what is asked once more may be granted twice");
}

#[test]
fn a_request_over_which_an_agent_has_died_is_not_asked_again_and_said_to_be_unknown() {
    let World { _agents: [_rome, agent], paris, broker, .. } = World::start();
    agent.kill();
    let start = Start::towards(&paris, broker.address, &paris.server.folder().join("certificates"));
    let mut command = start.command();
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("REAR_AGENT_DIES_AT", "request-answered");
    let mut mortal = command.spawn().unwrap();
    paris.request("a", "requestedCPU: '2', requestedMemory: 4Gi");
    assert!(!mortal.wait().unwrap().success());
    assert_eq!(broker.count(RESERVE), 1);
    let _next = start.run();
    paris.until_phase("a", "Failed");
    let reason = ".status.conditions[?(@.type==\"Reserved\")].reason";
    paris.until_in("default", "rr/a", reason, "OutcomeUnknown");
    assert_eq!(broker.count(RESERVE), 1);
}

#[test]
fn a_reservation_whose_answer_was_lost_is_not_asked_again_and_said_to_be_unknown() {
    let world = World::start();
    world.broker.state.lock().unwrap().lose_answers = true;
    let paris = &world.paris;
    paris.request("a", "requestedCPU: '2', requestedMemory: 4Gi, waitFor: 10m");
    paris.until_phase("a", "Failed");
    let reason = ".status.conditions[?(@.type==\"Reserved\")].reason";
    paris.until_in("default", "rr/a", reason, "OutcomeUnknown");
    // What that broker did execute is kept by its provider.
    let id = world.broker.state.lock().unwrap().reservations[0]["id"].clone();
    world.rome.until(&provider(id.as_str().unwrap()), ".status.enforced", "true");
    assert_eq!(world.broker.count(RESERVE), 1);
}
