//! An agent of the earlier system, as WIRE.md describes what it does, works unchanged.

use serde_json::json;

use super::process::Broker;
use super::tools::{advertisement, request, timestamp};

#[test]
fn it_pings_advertises_reserves_and_polls() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    assert_eq!(rome.get("/healthz").status, 200);
    // First it looks for its `reserved`, and finds nothing.
    assert_eq!(rome.get("/api/v1/advertisements/rome").status, 404);
    let told = rome.post("/api/v1/advertisements", &advertisement("rome", "8", "16Gi"));
    assert_eq!(told.status, 200);
    assert_eq!(rome.get("/api/v1/instructions").expect(200), json!([]));
    let mut asked = request("2", "4Gi");
    asked["priority"] = json!(5);
    asked["duration"] = json!("1h");
    let made = paris.post("/api/v1/reservations", &asked).expect(201);
    for member in ["id", "requesterID", "targetClusterID", "requestedResources", "createdAt"] {
        assert!(made.get(member).is_some(), "{member}");
    }
    assert_eq!(made["status"]["message"], "Use rome for 2 CPU / 4Gi Memory");
    // Then it copies `reserved` back: which is ignored, nonsense or not.
    let seen = rome.get("/api/v1/advertisements/rome").expect(200);
    let mut again = advertisement("rome", "8", "16Gi");
    again["resources"]["reserved"] = seen["resources"]["reserved"].clone();
    let answer = rome.post("/api/v1/advertisements", &again).expect(200);
    assert_eq!(answer["providerInstructions"][0]["id"], made["id"]);
    again["resources"]["reserved"] = json!({"cpu": "nonsense", "memory": "-5"});
    again["resources"]["available"] = json!({"cpu": "999999", "memory": "1Ei"});
    let answer = rome.post("/api/v1/advertisements", &again).expect(200);
    assert_eq!(answer["advertisement"]["resources"]["available"]["cpu"], "6");
    let polled = rome.get("/api/v1/instructions").expect(200);
    assert_eq!(polled[0]["status"]["phase"], "Reserved");
}

#[test]
fn two_advertisements_of_one_second_both_count_and_an_older_one_does_not() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    let now = timestamp();
    let tell = |cpu: &str, at: &str| {
        let mut told = advertisement("rome", cpu, "16Gi");
        told["timestamp"] = json!(at);
        rome.post("/api/v1/advertisements", &told)
    };
    tell("8", &now).expect(200);
    let second = tell("7", &now).expect(200);
    assert_eq!(second["advertisement"]["resources"]["allocatable"]["cpu"], "7");
    assert_eq!(tell("6", "2020-01-01T00:00:00Z").problem(409), "outdated");
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["allocatable"]["cpu"], "7");
}

#[test]
fn errors_have_the_member_that_it_shows() {
    let broker = Broker::start();
    let refused = broker.cluster("paris").post("/api/v1/reservations", &request("1", "1Gi"));
    assert_eq!(refused.status, 409);
    assert!(!refused.json()["error"].as_str().unwrap().is_empty());
}
