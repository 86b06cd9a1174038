//! What is counted is what happened.

use std::process::Command;

use serde_json::json;

use super::process::Broker;
use super::tools::{advertise, request, reserve};

fn scrape(broker: &Broker) -> String {
    let output = Command::new("curl").args(["--silent", "--fail", &broker.metrics()]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The value of a line.
fn value(text: &str, line: &str) -> u64 {
    let found = text.lines().find_map(|found| found.strip_prefix(&format!("{line} ")));
    found.unwrap_or_else(|| panic!("no {line} in\n{text}")).parse().unwrap()
}

#[test]
fn requests_grants_and_endings_are_counted() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "2", "16Gi");
    let before = scrape(&broker);
    assert_eq!(value(&before, "rear_broker_granted_total"), 0);
    let mut short = request("1", "1Gi");
    short["duration"] = json!("1s");
    paris.post("/api/v1/reservations", &short).expect(201);
    let seen = rome.get("/api/v1/instructions");
    let after = seen.header("rear-revision").unwrap();
    rome.get(&format!("/api/v1/instructions?wait=30s&after={after}")).expect(200);
    reserve(&paris, "2", "1Gi");
    paris.post("/api/v1/reservations", &request("1", "1Gi")).problem(409);
    let text = scrape(&broker);
    assert_eq!(value(&text, "rear_broker_granted_total"), 2);
    assert_eq!(value(&text, "rear_broker_expired_total"), 1);
    assert_eq!(value(&text, "rear_broker_reservations_reserved"), 1);
    assert_eq!(value(&text, "rear_broker_clusters"), 2);
    let line = |status: u16| {
        format!(
            "rear_broker_requests_total{{method=\"POST\",route=\"/api/v1/reservations\",status=\"{status}\"}}"
        )
    };
    assert_eq!(value(&text, &line(201)), 2);
    assert_eq!(value(&text, &line(409)), 1);
    assert!(value(&text, "rear_broker_certificate_expiry_timestamp_seconds") > 1_700_000_000);
    assert!(value(&text, "rear_broker_commits_total") >= 4);
    assert!(text.ends_with("# EOF\n"));
}
