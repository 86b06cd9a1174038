//! A user's request, from kubectl to the provider and back: two clusters and a broker, all processes of their own.

use rear_agent_sdk::{BrokerCommunicator, Intent, request};

use super::agent::{Agent, Start};
use super::background::block_on;
use super::process::Broker;
use super::site::Site;

pub(crate) const OBJECT: &str = "advertisement/cluster-advertisement";

/// A broker, Rome that asks, and Paris that has 16 cores.
pub(crate) struct World {
    // Before the clusters, so that agents end first.
    pub(crate) of_rome: Option<Agent>,
    pub(crate) of_paris: Option<Agent>,
    pub(crate) rome: Site,
    pub(crate) paris: Site,
    pub(crate) broker: Broker,
}

impl World {
    pub(crate) fn start() -> Self {
        let broker = Broker::start();
        let rome = Site::start();
        let paris = Site::with_nodes(&[("a", "8", "32Gi"), ("b", "8", "32Gi")]);
        let of_rome = Some(Start::with(&rome, &broker, "rome").run());
        let of_paris = Some(Start::with(&paris, &broker, "paris").run());
        paris.until(OBJECT, ".status.published", "true");
        rome.until(OBJECT, ".status.phase", "Active");
        Self { of_rome, of_paris, rome, paris, broker }
    }

    /// A request of Rome that is reserved; its reservation.
    pub(crate) fn reserved(&self, name: &str, spec: &str) -> String {
        self.rome.request(name, spec);
        self.rome.until_phase(name, "Reserved");
        self.rome.told(name, "reservationName")
    }
}

pub(crate) fn provider(id: &str) -> String {
    format!("providerinstruction/{id}-provider")
}

pub(crate) fn requester(id: &str) -> String {
    format!("reservationinstruction/{id}")
}

#[test]
fn a_request_is_reserved_on_both_sides_and_given_back_when_it_is_deleted() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
    let spec = "requestedCPU: '2', requestedMemory: 4Gi, duration: 1h";
    let id = world.reserved("a", spec);
    assert_eq!(rome.told("a", "targetClusterID"), "paris");
    assert_eq!(rome.told("a", "message"), "Use paris for 2 CPU / 4Gi Memory");
    assert_eq!(rome.told("a", "observedGeneration"), "1");
    rome.until(&requester(&id), ".spec.targetClusterID", "paris");
    rome.until(&requester(&id), ".status.delivered", "true");
    rome.until(
        &requester(&id),
        ".status.conditions[?(@.type==\"Peered\")].reason",
        "NotConfigured",
    );
    let kept = provider(&id);
    paris.until(&kept, ".spec.message", "Hold 2 CPU / 4Gi Memory for requester rome");
    paris.until(&kept, ".status.enforced", "true");
    paris.until(OBJECT, ".spec.resources.available.cpu", "14");
    paris.until(OBJECT, ".spec.resources.reserved.memory", "4Gi");
    rome.ask(&["delete", "rr", "a"]);
    paris.until_gone(&kept);
    rome.until_gone(&requester(&id));
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
    rome.until_told("default", &[("ResourceRequest", "Reserved")]);
    let used = "ReservationInstruction";
    rome.until_told("rear-agent", &[(used, "Delivered"), (used, "NotConfigured")]);
    let kept = "ProviderInstruction";
    paris.until_told(
        "rear-agent",
        &[
            ("Advertisement", "Published"),
            (kept, "Promised"),
            (kept, "Enforced"),
            (kept, "Withdrawn"),
        ],
    );
}

#[test]
fn every_kind_says_which_generation_its_status_and_conditions_are_about() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    let (used, kept) = (requester(&id), provider(&id));
    for (site, namespace, object, condition) in [
        (rome, "default", "rr/a", "Reserved"),
        (rome, "rear-agent", used.as_str(), "Peered"),
        (paris, "rear-agent", kept.as_str(), "Enforced"),
    ] {
        let of_condition =
            format!(".status.conditions[?(@.type==\"{condition}\")].observedGeneration");
        for path in [".status.observedGeneration", &of_condition] {
            site.until_in(namespace, object, path, "1");
        }
    }
    // Its generation grows with every refreshment.
    for path in [".status.observedGeneration", ".status.conditions[0].observedGeneration"] {
        assert!(paris.field(OBJECT, path).unwrap().parse::<i64>().unwrap() >= 1, "{path}");
    }
}

#[test]
fn what_nobody_has_room_for_fails_with_the_reasons_or_waits() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    rome.request("failed", "requestedCPU: '40', requestedMemory: 4Gi");
    rome.until_phase("failed", "Failed");
    let why = rome.told("failed", "message");
    assert!(why.contains("paris") && why.contains("cpu"), "{why}");
    rome.request("waits", "requestedCPU: '20', requestedMemory: 4Gi, waitFor: 10m");
    rome.until_phase("waits", "Pending");
    rome.request("gives-up", "requestedCPU: '40', requestedMemory: 4Gi, waitFor: 1s");
    rome.until_phase("gives-up", "Failed");
    paris.add_node("c", "16", "32Gi");
    rome.until_phase("waits", "Reserved");
    // A failure is final for a spec, and a new spec is a new wish.
    let smaller = r#"{"spec":{"requestedCPU":"1"}}"#;
    rome.ask(&["patch", "rr", "failed", "--type=merge", "-p", smaller]);
    rome.until_phase("failed", "Reserved");
}

#[test]
fn the_api_server_refuses_what_is_no_request() {
    let site = Site::start();
    let refused = |spec: &str| {
        let request = format!(
            "apiVersion: rear.fluidos.eu/v1alpha1\nkind: ResourceRequest\n\
             metadata: {{name: a, namespace: default}}\nspec: {{{spec}}}\n"
        );
        site.kubectl().apply(&request).unwrap_err().to_string()
    };
    let bad = [
        ("requestedCPU: '1'", "requestedMemory"),
        ("requestedCPU: 'much', requestedMemory: 1Gi", "requestedCPU"),
        ("requestedCPU: '0', requestedMemory: 1Gi", "must be above zero"),
        ("requestedCPU: '1', requestedMemory: '-1Gi'", "requestedMemory"),
        ("requestedCPU: '1', requestedMemory: 1Gi, duration: 1hour", "duration"),
        ("requestedCPU: '1', requestedMemory: 1Gi, waitFor: soon", "waitFor"),
    ];
    for (spec, reason) in bad {
        let said = refused(spec);
        assert!(said.contains(reason), "{spec}: {said}");
    }
}

#[test]
fn a_changed_spec_releases_the_old_reservation_and_asks_anew() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    let old = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    paris.until(&provider(&old), ".status.enforced", "true");
    rome.request("a", "requestedCPU: '3', requestedMemory: 4Gi");
    rome.until_in("default", "rr/a", ".status.observedGeneration", "2");
    let new = rome.told("a", "reservationName");
    assert_ne!(old, new);
    paris.until(&provider(&new), ".spec.requestedCPU", "3");
    paris.until_gone(&provider(&old));
    paris.until(OBJECT, ".spec.resources.available.cpu", "13");
}

#[test]
fn at_the_end_of_its_duration_a_request_is_released_and_the_capacity_free() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi, duration: 3s");
    rome.until_phase("a", "Released");
    paris.until_gone(&provider(&id));
    rome.until_gone(&requester(&id));
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
}

#[test]
fn a_reservation_that_was_made_elsewhere_has_its_instruction_too() {
    let world = World::start();
    let user = world.broker.cluster("rome");
    let made = block_on(user.reserve(&request("1", "1Gi"), &Intent::new())).unwrap();
    world.rome.until(&requester(&made.id), ".spec.targetClusterID", "paris");
    block_on(user.release(&made.id)).unwrap();
    world.rome.until_gone(&requester(&made.id));
}

#[test]
fn gpus_and_storage_are_reserved_too() {
    let world = World::start();
    let World { rome, paris, .. } = &world;
    let more = r#"{"status":{"capacity":{"nvidia.com/gpu":"4","ephemeral-storage":"100Gi"},
        "allocatable":{"nvidia.com/gpu":"4","ephemeral-storage":"100Gi"}}}"#;
    paris.ask(&["patch", "node", "a", "--subresource=status", "--type=merge", "-p", more]);
    paris.until(OBJECT, ".spec.resources.allocatable.gpu", "4");
    let spec = "requestedCPU: '1', requestedMemory: 1Gi, requestedGPU: '3', requestedStorage: 10Gi, waitFor: 1m";
    let id = world.reserved("a", spec);
    rome.until(&requester(&id), ".spec.requestedGPU", "3");
    paris.until(&provider(&id), ".spec.requestedStorage", "10Gi");
    paris.until(OBJECT, ".spec.resources.available.gpu", "1");
}
