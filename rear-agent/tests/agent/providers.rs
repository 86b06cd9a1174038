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

#[test]
fn a_promise_of_another_broker_that_ours_cannot_read_does_not_silence_its_provider() {
    const OLD: &str = "rsv-rome-1736000000000";
    let mut world = World::start();
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.paris.until(&provider(&id), ".status.enforced", "true");
    world.of_paris.take().unwrap().kill();
    // As an agent left it that kept promises of a broker of the earlier system.
    let kept = format!(
        "apiVersion: rear.fluidos.eu/v1alpha1\nkind: ProviderInstruction\n\
         metadata: {{name: {OLD}-provider, namespace: rear-agent}}\n\
         spec: {{reservationName: {OLD}, requesterClusterID: rome, requestedCPU: '1', requestedMemory: 1Gi}}\n"
    );
    let apply = ["apply", "--server-side", "--field-manager=rear-agent-promises", "-f", "-"];
    world.paris.kubectl().run_with_input(&apply, &kept).unwrap();
    world.of_paris = Some(Start::with(&world.paris, &world.broker, "paris").run());
    // The broker was told what is kept, and knows nothing of this one.
    world.paris.until_gone(&provider(OLD));
    world.paris.until(OBJECT, ".status.published", "true");
    world.paris.until(&provider(&id), ".status.enforced", "true");
    // Nothing unusual where an earlier broker was replaced.
    let log = world.of_paris.as_ref().unwrap().log();
    assert_eq!(log.matches(" WARN ").count(), 0, "{log}");
}
