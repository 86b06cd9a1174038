//! A namespace speaks for the cluster that an operator bound it to, and for no other.

use serde_json::json;

use super::stage::{Stage, cores};

#[test]
fn both_sides_see_a_reservation_and_only_theirs_counts() {
    let stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "8", "32Gi");
    stage.wish("rome", "a", &format!("{}, duration: 1h", cores("2")));
    stage.until_phase("rome", "a", "Reserved");
    let id = stage.told("rome", "a", "reservationID");
    stage.until_phase("paris", &id, "Reserved");
    let hold = "Hold 2 CPU / 1Gi Memory for requester rome";
    assert_eq!(stage.told("paris", &id, "message"), hold);
    stage.until("paris", &format!("reservation/{id}"), ".spec.requesterID", "rome");
    // The provider's copy is read-only: what is the requester's to say is not heard there.
    stage.say("paris", &id, "RequesterReleased", "");
    stage.ask(&["delete", "reservation", &id, "-n", "paris", "--wait=false"]);
    // It comes back, without what was said in it.
    stage.until_phase("paris", &id, "Reserved");
    stage.until_phase("rome", "a", "Reserved");
    stage.until_left("paris", "paris", "6");
    // The provider may reject it, with a reason that reaches the requester.
    stage.say("paris", &id, "ProviderRejected", "the disks are full");
    stage.until_phase("rome", "a", "Failed");
    assert!(stage.told("rome", "a", "message").contains("the disks are full"));
    stage.until_left("paris", "paris", "8");
    stage.end();
}

#[test]
fn nobody_speaks_for_another_cluster() {
    let stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "8", "32Gi");
    stage.wish("rome", "a", &format!("{}, requesterID: paris", cores("2")));
    stage.until_phase("rome", "a", "Failed");
    assert!(stage.told("rome", "a", "message").contains("this namespace is rome's"));
    // Neither can it advertise for it: what paris has stays what paris says.
    stage.apply("rome", &super::stage::advertisement("paris", "1000", "1000Gi"));
    stage.until("rome", "clusteradvertisement/paris-adv", ".status.code", "other-cluster");
    stage.until_left("paris", "paris", "8");
    // A namespace that is bound to nobody waits until it is.
    stage.ask(&["create", "namespace", "oslo"]);
    stage.wish("oslo", "b", &cores("1"));
    stage.until_phase("oslo", "b", "Pending");
    assert!(stage.told("oslo", "b", "message").contains("bound to no cluster"));
    stage.ask(&["label", "namespace", "oslo", "broker.fluidos.eu/cluster=oslo"]);
    stage.until_phase("oslo", "b", "Reserved");
    stage.end();
}

#[test]
fn what_is_reserved_over_http_appears_in_both_namespaces() {
    let stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "8", "32Gi");
    let rome = stage.broker.cluster("rome");
    let wish = json!({ "requestedResources": { "cpu": "2", "memory": "1Gi" }, "duration": "1h" });
    let made = rome.post("/api/v1/reservations", &wish).expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    stage.until_phase("rome", &id, "Reserved");
    stage.until_phase("paris", &id, "Reserved");
    stage.until_left("paris", "paris", "6");
    // The requester can give it back either way.
    stage.until(
        "rome",
        &format!("reservation/{id}"),
        ".metadata.finalizers[0]",
        "reservation.broker.fluidos.eu/finalizer",
    );
    stage.ask(&["delete", "reservation", &id, "-n", "rome", "--timeout=60s"]);
    stage.until_left("paris", "paris", "8");
    let seen = rome.get(&format!("/api/v1/reservations/{id}")).expect(200);
    assert_eq!(seen["status"]["phase"], "Released");
    // And what was made as a resource is there over HTTP, for its sides.
    stage.wish("rome", "a", &cores("1"));
    stage.until_phase("rome", "a", "Reserved");
    let id = stage.told("rome", "a", "reservationID");
    let path = format!("/api/v1/reservations/{id}");
    assert_eq!(rome.get(&path).expect(200)["status"]["phase"], "Reserved");
    rome.delete(&path).expect(200);
    stage.until_phase("rome", "a", "Released");
    stage.end();
}

#[test]
fn clusters_that_come_the_wrong_way_are_told_which_is_right() {
    let server = super::stage::prepared();
    let flags = ["--broker-interface=kubernetes", "--shared-namespace=default"];
    let stage = Stage::with(server, &flags);
    stage.lend("default", "paris", "8", "32Gi");
    let refused = stage.broker.cluster("rome").get("/api/v1/instructions").expect(421);
    assert!(refused["detail"].as_str().unwrap().contains("--broker-transport=kubernetes"));
    // Administrators are answered in any case.
    let all = stage.broker.administrator().get("/api/v1/advertisements").expect(200);
    assert_eq!(all[0]["clusterID"], "paris");
    stage.end();
}
