//! Agents, brokers and API servers go away at the worst moments, and nothing is lost or granted twice.

use std::thread;
use std::time::Duration;

use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::Role;
use rear_api::reservation::PhaseName;

use super::agent::Start;
use super::background::{block_on, in_background};
use super::process::Broker;
use super::proxy::Proxy;
use super::requests::{OBJECT, World, provider, requester};
use super::site::Site;

/// The live reservations of Rome, as the broker has them.
pub(crate) fn live(broker: &Broker) -> Vec<String> {
    let user = broker.cluster("rome");
    let all = block_on(user.reservations(Role::Requester)).unwrap();
    let lives = |phase: &PhaseName| matches!(phase, PhaseName::Reserved | PhaseName::Active);
    all.into_iter().filter(|one| lives(&one.status.phase)).map(|one| one.id).collect()
}

#[test]
fn an_agent_that_is_killed_at_any_moment_makes_one_reservation_for_each_request() {
    let mut world = World::start();
    // Each time a little later after the request, through all steps that lead to its status.
    for step in 0..8 {
        let name = format!("r{step}");
        world.rome.request(&name, "requestedCPU: '1', requestedMemory: 1Gi");
        thread::sleep(Duration::from_millis(step * 4));
        world.of_rome.take().unwrap().kill();
        world.of_rome = Some(Start::with(&world.rome, &world.broker, "rome").run());
    }
    for step in 0..8 {
        world.rome.until_phase(&format!("r{step}"), "Reserved");
    }
    assert_eq!(live(&world.broker).len(), 8);
    world.rome.until_number("reservationinstructions", 8);
    world.paris.until_number("providerinstructions", 8);
    // Killed while they are deleted, everything is given back all the same.
    let mut delete = vec!["delete", "rr", "--wait=false"];
    let names: Vec<_> = (0..8).map(|step| format!("r{step}")).collect();
    delete.extend(names.iter().map(String::as_str));
    world.rome.ask(&delete);
    world.of_rome.take().unwrap().kill();
    world.of_rome = Some(Start::with(&world.rome, &world.broker, "rome").run());
    world.rome.ask(&["wait", "--for=delete", "rr", "--all", "--timeout=120s"]);
    assert_eq!(live(&world.broker), [""; 0]);
    world.paris.until(OBJECT, ".spec.resources.available.cpu", "16");
}

#[test]
fn a_spec_that_changed_while_the_agent_was_dead_leaves_one_reservation() {
    let mut world = World::start();
    world.rome.request("a", "requestedCPU: '1', requestedMemory: 1Gi");
    world.of_rome.take().unwrap().kill();
    world.rome.request("a", "requestedCPU: '2', requestedMemory: 1Gi");
    world.of_rome = Some(Start::with(&world.rome, &world.broker, "rome").run());
    world.rome.until_in("default", "rr/a", ".status.observedGeneration", "2");
    world.rome.until_phase("a", "Reserved");
    assert_eq!(live(&world.broker), [world.rome.told("a", "reservationName")]);
}

#[test]
fn an_api_server_that_was_away_finds_its_agent_at_work() {
    let mut world = World::start();
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.paris.until(&provider(&id), ".status.enforced", "true");
    world.paris.server.process().kill().unwrap();
    world.rome.ask(&["delete", "rr", "a"]);
    world.paris.server.process().start().unwrap();
    world.paris.server.await_ready().unwrap();
    world.paris.until_gone(&provider(&id));
    world.paris.until(OBJECT, ".spec.resources.available.cpu", "16");
    let id = world.reserved("b", "requestedCPU: '1', requestedMemory: 1Gi");
    world.paris.until(&provider(&id), ".status.enforced", "true");
}

#[test]
fn a_broker_that_is_away_delays_requests_and_wedges_no_deletion() {
    let mut broker = Broker::start();
    let proxy = in_background(Proxy::before(broker.address));
    let (rome, paris) = (Site::start(), Site::with_nodes(&[("a", "8", "32Gi")]));
    let _of_rome = Start::at(&rome, &broker, "rome", proxy.address).run();
    let _of_paris = Start::at(&paris, &broker, "paris", proxy.address).run();
    paris.until(OBJECT, ".status.published", "true");
    rome.until(OBJECT, ".status.published", "true");
    rome.request("a", "requestedCPU: '1', requestedMemory: 1Gi");
    rome.until_phase("a", "Reserved");
    let id = rome.told("a", "reservationName");
    rome.until(&requester(&id), ".status.delivered", "true");
    broker.kill();
    rome.request("late", "requestedCPU: '2', requestedMemory: 1Gi");
    rome.until_phase("late", "Pending");
    // The object goes although nobody can be told; the instruction remembers it.
    rome.ask(&["delete", "rr", "a", "--timeout=180s"]);
    rome.until(&requester(&id), ".metadata.annotations.rear\\.fluidos\\.eu/release", "wanted");
    broker.restart();
    proxy.lead_to(broker.address);
    rome.until_phase("late", "Reserved");
    rome.until_gone(&requester(&id));
    assert_eq!(live(&broker), [rome.told("late", "reservationName")]);
    paris.until_number("providerinstructions", 1);
}
