//! The routes of administrators: nobody else gets through, and nothing is meant by leaving something out.

use serde_json::json;

use super::process::Broker;
use super::tools::advertise;

#[test]
fn what_is_for_administrators_is_refused_to_clusters() {
    let broker = Broker::start();
    let (rome, operator) = (broker.cluster("rome"), broker.administrator());
    advertise(&rome, "rome", "8", "16Gi");
    assert_eq!(rome.get("/api/v1/snapshot").problem(403), "not-allowed");
    let one = json!({"clusterID": "rome"});
    assert_eq!(rome.post("/api/v1/recovery/end", &one).problem(403), "not-allowed");
    assert_eq!(rome.call("POST", "/api/v1/clock/confirm", None).problem(403), "not-allowed");
    assert_eq!(broker.client(None).get("/api/v1/snapshot").problem(401), "no-certificate");
    let snapshot = operator.get("/api/v1/snapshot");
    assert!(snapshot.status == 200 && snapshot.body.starts_with(b"REAR ledger backup 1\n"));
    assert_eq!(
        operator.post("/api/v1/recovery/end", &one).expect(200),
        json!({"clusterID": "rome", "all": false})
    );
    let mut looking = operator.connect().unwrap();
    looking.send(b"HEAD /api/v1/snapshot HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(looking.head().unwrap().0, 200);
    let confirmed = operator.call("POST", "/api/v1/clock/confirm", None).expect(200);
    assert!(confirmed["time"].as_str().unwrap().starts_with("20"), "{confirmed}");
    assert!(!broker.log().contains("a snapshot was not saved"), "{}", broker.log());
}

#[test]
fn the_recovery_of_everyone_is_ended_only_by_saying_so() {
    let broker = Broker::start();
    let operator = broker.administrator();
    let end = |body: &serde_json::Value| operator.post("/api/v1/recovery/end", body);
    for body in [
        json!({}),
        json!({"all": false}),
        json!({"all": true, "clusterID": "rome"}),
        json!({"cluster": "rome"}),
        json!({"clusterID": "Rome"}),
        json!([null, true]),
    ] {
        assert_eq!(end(&body).problem(422), "invalid", "{body}");
    }
    assert_eq!(end(&json!({"clusterID": "oslo"})).problem(404), "unknown-cluster");
    end(&json!({"all": true})).expect(200);
}
