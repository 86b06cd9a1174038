//! What is counted is what happened.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use serde_json::json;

use super::process::Broker;
use super::process::plain;
use super::tools::{advertise, advertisement, id_of, request, reserve};

pub(crate) fn scrape(broker: &Broker) -> String {
    let (head, text) = plain(broker.listener("metrics"), "/metrics");
    assert!(
        head.starts_with("http/1.1 200 ") && head.contains("text/plain; version=0.0.4"),
        "{head}"
    );
    text
}

/// The value of a line.
fn value(text: &str, line: &str) -> f64 {
    let line = format!("rear_broker_{line} ");
    let found = text.lines().find_map(|found| found.strip_prefix(&line));
    found.unwrap_or_else(|| panic!("no {line} in\n{text}")).parse().unwrap()
}

/// Panics over a value that is another.
fn assert_values(text: &str, expected: &[(&str, f64)]) {
    for (line, expected) in expected {
        let found = value(text, line);
        assert!((found - expected).abs() < 1e-9, "{line}: {found}, not {expected}");
    }
}

#[test]
fn requests_grants_and_endings_are_counted() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    // Whoever only looks after the others is none of them.
    broker.administrator().get("/api/v1/reservations").expect(200);
    advertise(&rome, "rome", "2", "16Gi");
    assert_values(&scrape(&broker), &[("granted_total", 0.0)]);
    let mut short = request("1", "1Gi");
    short["duration"] = json!("1s");
    paris.post("/api/v1/reservations", &short).expect(201);
    let seen = rome.get("/api/v1/instructions");
    let after = seen.header("rear-revision").unwrap();
    rome.get(&format!("/api/v1/instructions?wait=30s&after={after}")).expect(200);
    let id = id_of(&reserve(&paris, "1500m", "1Gi"));
    paris.post("/api/v1/reservations", &request("1", "1Gi")).problem(409);
    rome.delete(&format!("/api/v1/reservations/{id}")).problem(403);
    paris.call("POST", &format!("/api/v1/reservations/{id}/activate"), None).expect(200);
    rome.post("/api/v1/advertisements", &advertisement("oslo", "1", "1Gi")).problem(403);
    broker.client(None).get("/api/v1/instructions").problem(401);
    let mut stream = paris.connect().unwrap();
    stream.send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(stream.head().unwrap().0, 200);
    assert_values(&scrape(&broker), &[("event_streams_closed_total", 0.0)]);
    drop(stream);
    while value(&scrape(&broker), "event_streams_closed_total") < 1.0 {}
    let text = scrape(&broker);
    let gib = f64::from(1 << 30);
    assert_values(
        &text,
        &[
            ("granted_total", 2.0),
            ("expired_total", 1.0),
            ("queue", 0.0),
            ("panics_total", 0.0),
            ("reservations{phase=\"Reserved\"}", 0.0),
            ("reservations{phase=\"Active\"}", 1.0),
            ("reservations{phase=\"Released\"}", 1.0),
            ("clusters{state=\"active\"}", 1.0),
            ("clusters{state=\"silent\"}", 1.0),
            ("clusters{state=\"stale\"}", 0.0),
            ("clusters{state=\"overcommitted\"}", 0.0),
            ("clusters{state=\"recovering\"}", 0.0),
            ("allocatable{dimension=\"cpu\"}", 2.0),
            ("reserved{dimension=\"cpu\"}", 1.5),
            ("available{dimension=\"cpu\"}", 0.5),
            ("reserved{dimension=\"memory\"}", gib),
            ("available{dimension=\"memory\"}", 15.0 * gib),
            ("available{dimension=\"gpu\"}", 0.0),
            ("requests_total{method=\"POST\",route=\"/api/v1/reservations\",status=\"201\"}", 2.0),
            ("requests_total{method=\"POST\",route=\"/api/v1/reservations\",status=\"409\"}", 1.0),
            ("requests_total{method=\"GET\",route=\"/api/v1/instructions\",status=\"401\"}", 1.0),
            ("decisions_total{action=\"reserve\",outcome=\"done\",reason=\"\"}", 2.0),
            ("decisions_total{action=\"reserve\",outcome=\"refused\",reason=\"no-room\"}", 1.0),
            ("decisions_total{action=\"release\",outcome=\"refused\",reason=\"not-allowed\"}", 1.0),
            ("decisions_total{action=\"activate\",outcome=\"done\",reason=\"\"}", 1.0),
            ("decisions_total{action=\"advertise\",outcome=\"done\",reason=\"\"}", 1.0),
            (
                "decisions_total{action=\"advertise\",outcome=\"refused\",reason=\"other-cluster\"}",
                1.0,
            ),
        ],
    );
    let certificate = std::fs::read(broker.certificates().join("tls.crt")).unwrap();
    let (_, certificate) = x509_parser::pem::parse_x509_pem(&certificate).unwrap();
    let end = certificate.parse_x509().unwrap().validity().not_after.timestamp();
    #[expect(clippy::cast_precision_loss, reason = "exact for a hundred million years")]
    assert_values(&text, &[("certificate_expiry_timestamp_seconds", end as f64)]);
    // Expiry alone makes a commit that answers nobody, and the rest answered at least one each.
    let commits = value(&text, "commits_total");
    assert!(commits >= 5.0);
    assert_values(
        &text,
        &[
            ("batch_commands_count", commits),
            ("batch_commands_bucket{le=\"+Inf\"}", commits),
            ("commit_duration_seconds_count", commits),
        ],
    );
    assert!(value(&text, "commit_duration_seconds_sum") > 0.0);
}

#[test]
fn connections_are_counted_while_they_are_open() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    let mut open: Vec<_> = (0..3).map(|_| paris.connect().unwrap()).collect();
    for connection in &mut open {
        connection.call("GET", "/api/v1/instructions", &[], None).unwrap().expect(200);
    }
    assert_values(&scrape(&broker), &[("connections", 3.0)]);
    open.pop();
    while value(&scrape(&broker), "connections") > 2.5 {}
    assert_values(&scrape(&broker), &[("connections", 2.0)]);
}

#[test]
fn no_cluster_has_a_series_of_its_own_unless_someone_wants_that() {
    for wanted in [false, true] {
        let switch = format!("--metrics-per-cluster={wanted}");
        let broker = Broker::start_with(&[&switch]);
        advertise(&broker.cluster("rome"), "rome", "2", "16Gi");
        reserve(&broker.cluster("paris"), "500m", "1Gi");
        let text = scrape(&broker);
        assert_eq!(text.contains("rome"), wanted, "{text}");
        if wanted {
            let line = "cluster_reserved{cluster=\"rome\",dimension=\"cpu\"}";
            assert_values(&text, &[(line, 0.5)]);
        }
        assert!(!text.contains("paris"), "it has nothing to give");
    }
}

#[test]
fn many_at_once_are_counted_once_each() {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "1000", "1Ti");
    let paris = broker.cluster("paris");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut connection = paris.connect().unwrap();
                for _ in 0..25 {
                    let body = request("1", "1Mi").to_string();
                    let path = "/api/v1/reservations";
                    connection.call("POST", path, &[], Some(body.as_bytes())).unwrap().expect(201);
                }
            });
        }
    });
    let text = scrape(&broker);
    assert_values(
        &text,
        &[
            ("granted_total", 400.0),
            ("decisions_total{action=\"reserve\",outcome=\"done\",reason=\"\"}", 400.0),
            ("reserved{dimension=\"cpu\"}", 400.0),
        ],
    );
    assert!(
        value(&text, "batch_commands_sum") >= 401.0,
        "the advertisement, and a sign of life at times"
    );
    assert!(value(&text, "commits_total") <= 401.0 + 2.0);
}

#[test]
fn the_reference_has_every_metric_and_none_that_is_not_there() {
    let broker = Broker::start_with(&["--metrics-per-cluster"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let text = scrape(&broker);
    let shown: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE rear_broker_")?.split(' ').next())
        .map(str::to_owned)
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/metrics.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let rows = reference.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let documented: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(shown, documented);
}
