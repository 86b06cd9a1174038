//! Objects that were stored under another definition: one that cannot be read is its own problem.

use rear_testbed::eventually;

use super::agent::Start;
use super::requests::{World, provider};
use super::site::Site;

/// As a definition may have been that somebody else has installed.
const ANYTHING: &str = r#"[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}]"#;

const SMALL: &str = "requestedCPU: '1', requestedMemory: 1Gi";

/// Has the API server take anything as an object of this kind.
fn loosen(site: &Site, kinds: &str) {
    let definition = format!("crd/{kinds}.rear.fluidos.eu");
    site.ask(&["patch", &definition, "--type=json", "-p", ANYTHING]);
}

/// What kubectl does as soon as the API server takes that.
fn at_last(site: &Site, arguments: &[&str]) {
    eventually(|| site.kubectl().run(arguments).ok()).expect("the new definition counts");
}

#[test]
fn one_request_that_cannot_be_read_stops_no_other_and_is_told_once() {
    let mut world = World::start();
    world.reserved("spoilt-wish", SMALL);
    loosen(&world.rome, "resourcerequests");
    let spoil = r#"{"spec":{"priority":99999999999}}"#;
    at_last(&world.rome, &["patch", "rr", "spoilt-wish", "--type=merge", "-p", spoil]);
    world.reserved("a", SMALL);
    // Also at a start, where it is not known as it was.
    world.of_rome.take().unwrap().kill();
    world.of_rome = Some(Start::with(&world.rome, &world.broker, "rome").run());
    world.reserved("b", SMALL);
    let log = world.of_rome.as_ref().unwrap().log();
    let about = |line: &&str| line.contains("cannot be read") && line.contains("spoilt-wish");
    assert_eq!(log.lines().filter(about).count(), 2, "once by each of the two: {log}");
    // Nothing was given back for it.
    world.rome.until_number("reservationinstruction", 3);
    world.paris.until_number("providerinstruction", 3);
}

#[test]
fn one_instruction_that_cannot_be_read_keeps_no_promise_from_being_kept() {
    let mut world = World::start();
    let spoilt = provider(&world.reserved("a", SMALL));
    world.paris.until(&spoilt, ".status.enforced", "true");
    loosen(&world.paris, "providerinstructions");
    let status = ["--subresource=status", "--type=merge", "-p", r#"{"status":{"enforced":"no"}}"#];
    let patch = ["patch", &spoilt, "-n", "rear-agent"];
    at_last(&world.paris, &[&patch[..], &status[..]].concat());
    let next = provider(&world.reserved("b", SMALL));
    world.paris.until(&next, ".status.enforced", "true");
    world.of_paris.take().unwrap().kill();
    world.of_paris = Some(Start::with(&world.paris, &world.broker, "paris").run());
    let next = provider(&world.reserved("c", SMALL));
    world.paris.until(&next, ".status.enforced", "true");
    world.rome.ask(&["delete", "rr", "c"]);
    world.paris.until_gone(&next);
}
