//! Who is gone: whoever waits is not, and whoever has asked for something can be.

use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::process::Broker;
use super::tools::{advertise, id_of, reserve};

/// Whether a reservation is released by then.
fn is_released_within(patience: Duration, operator: &Client, made: &Value) -> bool {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    let path = format!("/api/v1/reservations/{}", id_of(made));
    let mut waited = Duration::ZERO;
    while operator.get(&path).expect(200)["status"]["phase"] != "Released" {
        if waited >= patience {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
    true
}

#[test]
fn whoever_waits_for_the_broker_is_not_gone() {
    let broker = Broker::start_with(&["--requester-gone-after", "6s"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let [paris, oslo, bern] = ["paris", "oslo", "bern"].map(|name| broker.cluster(name));
    // One who waits for what it has to do, one who listens, one who does neither.
    let [of_paris, of_oslo, of_bern] = [&paris, &oslo, &bern].map(|by| reserve(by, "1", "1Gi"));
    let seen = paris.get("/api/v1/instructions?role=requester");
    let after = seen.header("rear-revision").unwrap().to_owned();
    let mut stream = oslo.connect().unwrap();
    stream.send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(stream.head().unwrap().0, 200);
    let path = format!("/api/v1/instructions?role=requester&wait=14s&after={after}");
    let level = paris.get(&path).expect(200);
    assert_eq!(level[0]["id"], of_paris["id"], "{level}");
    let operator = broker.administrator();
    assert!(is_released_within(Duration::ZERO, &operator, &of_bern));
    assert!(!is_released_within(Duration::ZERO, &operator, &of_oslo));
    // Nobody listens any more.
    drop(stream);
    assert!(is_released_within(Duration::from_mins(1), &operator, &of_oslo));
}

#[test]
fn an_administrator_that_asks_for_itself_is_missed_like_a_cluster() {
    let broker = Broker::start_with(&["--requester-gone-after", "1s"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let made = reserve(&broker.administrator(), "1", "1Gi");
    let other = broker.client(Some(&broker.authority.administrator("other")));
    assert!(is_released_within(Duration::from_secs(20), &other, &made));
}
