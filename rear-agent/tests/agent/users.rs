//! A user who may create `ResourceRequest`s, and no more, gets no more than what they say.

use rear_agent_sdk::BrokerCommunicator;
use rear_testbed::Kubectl;

use super::background::block_on;
use super::interruptions::live;
use super::requests::{World, provider};
use super::site::Site;

/// kubectl as someone who may create, see and delete requests in the namespace `default`.
fn user(site: &Site) -> Kubectl {
    let user = site.server.user("mallory").unwrap();
    let rights = ["--verb=create,get,delete", "--resource=resourcerequests.rear.fluidos.eu"];
    site.ask(&[&["create", "role", "asks"], &rights[..]].concat());
    site.ask(&["create", "rolebinding", "asks", "--role=asks", "--user=mallory"]);
    site.server.kubectl_as(&user)
}

/// A request for one core with more in it than users should write.
fn wish(name: &str, metadata: &str, rest: &str) -> String {
    format!(
        "apiVersion: rear.fluidos.eu/v1alpha1\nkind: ResourceRequest\n\
         metadata: {{name: {name}, namespace: default, {metadata}}}\n\
         spec: {{requestedCPU: '1', requestedMemory: 1Gi}}\n{rest}"
    )
}

fn create(user: &Kubectl, wish: &str) {
    user.run_with_input(&["create", "-f", "-"], wish).unwrap();
}

/// Waiting is for someone else: kubectl lists, which this user may not.
fn delete(site: &Site, user: &Kubectl, name: &str) {
    user.run(&["delete", "rr", name, "--wait=false"]).unwrap();
    site.ask(&["wait", "--for=delete", &format!("rr/{name}"), "--timeout=120s"]);
}

#[test]
fn a_forged_memory_of_what_was_asked_gets_no_more_than_the_spec() {
    let world = World::start();
    let mallory = user(&world.rome);
    let forged = r#"{"generation":1,"since":"2026-01-01T00:00:00Z","request":{"requestedResources":{"cpu":"9","memory":"9Gi"}}}"#;
    create(
        &mallory,
        &wish("a", &format!("annotations: {{rear.fluidos.eu/asked: '{forged}'}}"), ""),
    );
    world.rome.until_phase("a", "Reserved");
    let id = world.rome.told("a", "reservationName");
    world.paris.until(&provider(&id), ".spec.requestedCPU", "1");
    assert_eq!(live(&world.broker), [id]);
}

#[test]
fn a_forged_status_takes_nothing_from_anyone() {
    let world = World::start();
    let mallory = user(&world.rome);
    let of_another = world.reserved("honest", "requestedCPU: '2', requestedMemory: 4Gi");
    let status = format!(
        "status: {{phase: Reserved, observedGeneration: 1, targetClusterID: paris, reservationName: {of_another}}}\n"
    );
    create(&mallory, &wish("a", "finalizers: [rear.fluidos.eu/release]", &status));
    world.rome.until_phase("a", "Reserved");
    assert_ne!(world.rome.told("a", "reservationName"), of_another);
    delete(&world.rome, &mallory, "a");
    assert_eq!(live(&world.broker), [of_another]);
}

#[test]
fn what_a_user_writes_stays_text_for_everyone_else() {
    let world = World::start();
    let mallory = user(&world.rome);
    // The longest name that there is, and amounts and times at the edge of what the schema lets through.
    let name = "a".repeat(253);
    create(&mallory, &wish(&name, "", ""));
    world.rome.until_phase(&name, "Reserved");
    let all = "9".repeat(18);
    let much = wish("much", "", "").replace("'1'", &format!("'{all}'"));
    create(&mallory, &much);
    world.rome.until_phase("much", "Failed");
    let others = mallory.run(&["get", "reservationinstructions", "-n", "rear-agent"]);
    assert!(others.unwrap_err().to_string().contains("forbidden"));
    let id = world.rome.told(&name, "reservationName");
    assert_eq!(live(&world.broker), std::slice::from_ref(&id));
    delete(&world.rome, &mallory, &name);
    assert!(block_on(world.broker.cluster("rome").reservation(&id)).is_ok(), "it is remembered");
    assert_eq!(live(&world.broker), [""; 0]);
}
