//! A provider keeps what it can, says what it cannot, and does not count twice what is used already.

use super::agent::Start;
use super::requests::{OBJECT, World, provider};
use super::site::pods;

#[test]
fn a_cluster_that_has_filled_up_may_reject_what_was_promised() {
    let mut world = World::start();
    // While its agent is away, pods take the place that the broker still sees.
    world.of_paris.take().unwrap().kill();
    world.paris.apply(&pods(&["large".to_owned()], "a", "7", "1Gi", ""));
    world.paris.apply(&pods(&["larger".to_owned()], "b", "7", "1Gi", ""));
    let id = world.reserved("a", "requestedCPU: '4', requestedMemory: 4Gi");
    let start = Start::with(&world.paris, &world.broker, "paris").flag("--reject-when-full");
    world.of_paris = Some(start.run());
    world.rome.until_phase("a", "Failed");
    let why = world.rome.told("a", "message");
    assert!(why.contains("has filled up"), "{why}");
    assert_eq!(world.paris.field(&provider(&id), ".spec.requestedCPU"), None);
}

#[test]
fn what_a_requesters_pods_use_already_is_not_reserved_a_second_time() {
    let world = World::start();
    let paris = &world.paris;
    let id = world.reserved("a", "requestedCPU: '4', requestedMemory: 4Gi");
    paris.until(&provider(&id), ".status.enforced", "true");
    paris.until(OBJECT, ".spec.resources.available.cpu", "12");
    let offloaded = "offloading.liqo.io/origin: rome, offloading.liqo.io/destination: paris";
    paris.apply(&pods(&["theirs".to_owned()], "a", "3", "1Gi", offloaded));
    paris.apply(&pods(&["ours".to_owned()], "a", "1", "1Gi", ""));
    paris.until(OBJECT, ".spec.resources.allocated.cpu", "4");
    paris.until(OBJECT, ".spec.resources.available.cpu", "11");
}
