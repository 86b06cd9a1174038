//! People edit and delete what the agent wrote: it comes back as the broker has it.

use rear_agent_sdk::{BrokerCommunicator, Intent, request};
use rear_testbed::eventually;

use super::agent::Start;
use super::background::block_on;
use super::interruptions::live;
use super::requests::{OBJECT, World, provider, requester};

/// Waits until these reservations of Rome live, and no others.
fn until_live(world: &World, expected: &[&str]) {
    let mut last = Vec::new();
    let so = eventually(|| {
        last = live(&world.broker);
        (last == expected).then_some(())
    });
    assert!(so.is_some(), "{expected:?} should live, and do {last:?}");
}

#[test]
fn a_request_that_is_replaced_keeps_its_reservation_or_gives_it_back() {
    let world = World::start();
    let rome = &world.rome;
    let held =
        || rome.until_in("default", "rr/a", ".metadata.finalizers[0]", "rear.fluidos.eu/release");
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    held();
    rome.replace_request("a", "requestedCPU: '2', requestedMemory: 4Gi");
    held();
    assert_eq!(rome.told("a", "reservationName"), id);
    assert_eq!(live(&world.broker), [id]);
    rome.replace_request("a", "requestedCPU: '3', requestedMemory: 4Gi");
    rome.until_in("default", "rr/a", ".status.observedGeneration", "2");
    rome.until_phase("a", "Reserved");
    let next = rome.told("a", "reservationName");
    until_live(&world, &[&next]);
    held();
    rome.ask(&["delete", "rr", "a"]);
    until_live(&world, &[]);
}

#[test]
fn requests_that_an_earlier_agent_has_answered_stay_as_they_are() {
    let mut world = World::start();
    world.of_rome.take().unwrap().kill();
    let user = world.broker.cluster("rome");
    let id = block_on(user.reserve(&request("2", "4Gi"), &Intent::new())).unwrap().id;
    let rome = &world.rome;
    for (name, status) in [
        (
            "granted",
            format!(r#"{{"phase":"Reserved","targetClusterID":"paris","reservationName":"{id}"}}"#),
        ),
        ("refused", r#"{"phase":"Failed","message":"no cluster"}"#.to_owned()),
    ] {
        rome.request(name, "requestedCPU: '2', requestedMemory: 4Gi");
        let status = format!(r#"{{"status":{status}}}"#);
        rome.ask(&["patch", "rr", name, "--subresource=status", "--type=merge", "-p", &status]);
    }
    world.of_rome = Some(Start::with(&world.rome, &world.broker, "rome").run());
    let rome = &world.rome;
    for name in ["rr/granted", "rr/refused"] {
        rome.until_in("default", name, ".metadata.finalizers[0]", "rear.fluidos.eu/release");
    }
    rome.until(&requester(&id), ".spec.targetClusterID", "paris");
    assert_eq!(
        (rome.told("granted", "reservationName"), live(&world.broker)),
        (id.clone(), vec![id])
    );
    assert_eq!(rome.told("refused", "message"), "no cluster");
    // What is asked from now on is this agent's.
    rome.request("refused", "requestedCPU: '1', requestedMemory: 1Gi");
    rome.until_phase("refused", "Reserved");
    let next = rome.told("refused", "reservationName");
    rome.ask(&["delete", "rr", "granted"]);
    until_live(&world, &[&next]);
}

#[test]
fn instructions_that_were_deleted_or_edited_come_back() {
    let world = World::start();
    let (rome, paris) = (&world.rome, &world.paris);
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    let (used, kept) = (requester(&id), provider(&id));
    paris.until(&kept, ".status.enforced", "true");
    let uid = paris.field(&kept, ".metadata.uid").unwrap();
    paris.ask(&["delete", &kept, "-n", "rear-agent"]);
    paris.until(&kept, ".status.enforced", "true");
    assert_ne!(paris.field(&kept, ".metadata.uid").unwrap(), uid);
    let edit = r#"{"spec":{"requestedCPU":"1"}}"#;
    paris.ask(&["patch", &kept, "-n", "rear-agent", "--type=merge", "-p", edit]);
    paris.until(&kept, ".spec.requestedCPU", "2");
    paris.until(OBJECT, ".spec.resources.available.cpu", "14");
    rome.ask(&["delete", &used, "-n", "rear-agent"]);
    rome.until(&used, ".spec.targetClusterID", "paris");
    rome.until_phase("a", "Reserved");
}

#[test]
fn what_someone_adds_to_an_instruction_goes() {
    let world = World::start();
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.paris.until(&provider(&id), ".status.enforced", "true");
    world.rome.until(&requester(&id), ".status.delivered", "true");
    let added = r#"{"spec":{"expiresAt":"2030-01-02T15:04:05Z","requestedGPU":"1"}}"#;
    for (site, object) in [(&world.paris, provider(&id)), (&world.rome, requester(&id))] {
        site.ask(&["patch", &object, "-n", "rear-agent", "--type=merge", "-p", added]);
        for field in [".spec.expiresAt", ".spec.requestedGPU"] {
            let gone = || site.field(&object, field).is_none().then_some(());
            eventually(gone).unwrap_or_else(|| panic!("{field} of {object} stays"));
        }
        assert_eq!(site.field(&object, ".spec.requestedCPU").as_deref(), Some("2"));
    }
}

#[test]
fn an_instruction_that_someone_invents_neither_counts_nor_disturbs() {
    let world = World::start();
    let object = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: rear.fluidos.eu/v1alpha1\nkind: {kind}\n\
             metadata: {{name: {name}, namespace: rear-agent}}\n\
             spec: {{reservationName: rsv-x, requestedCPU: '4', requestedMemory: 1Gi, {spec}}}\n"
        )
    };
    let paris = &world.paris;
    paris.apply(&object("ProviderInstruction", "rsv-x-provider", "requesterClusterID: rome"));
    paris.apply(&object("ProviderInstruction", "other", "requesterClusterID: 'No Cluster'"));
    for name in ["providerinstruction/rsv-x-provider", "providerinstruction/other"] {
        paris.until(name, ".status.conditions[0].reason", "NotOurs");
    }
    world.reserved("a", "requestedCPU: '1', requestedMemory: 1Gi");
    paris.until(OBJECT, ".spec.resources.available.cpu", "15");
    paris.until(OBJECT, ".status.published", "true");
}
