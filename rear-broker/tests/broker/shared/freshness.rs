//! Reads: as new as the caller has seen, the newest of all, or marked as old.

use rear_testbed::eventually;
use serde_json::json;

use super::trio::Trio;
use crate::tools::{advertise, id_of, request};

#[test]
fn a_reader_misses_nothing_that_it_asks_for_and_is_told_what_is_old() {
    let trio = Trio::start();
    advertise(&trio.cluster(0, "rome"), "rome", "100", "100Gi");
    let paris = |place| trio.cluster(place, "paris");
    for round in 0..12 {
        let body = request("1", "1Gi");
        let made = paris(round % 3).post("/api/v1/reservations", &body);
        let (id, revision) = (id_of(&made.expect(201)), made.header("rear-revision").unwrap());
        let address = format!("/api/v1/reservations/{id}");
        // Where it was not made: with what was seen, and by asking everyone.
        let mut elsewhere = paris((round + 1) % 3).connect().unwrap();
        let seen = [("REAR-At-Least", revision)];
        assert_eq!(elsewhere.call("GET", &address, &seen, None).unwrap().status, 200);
        let newest = format!("{address}?consistency=linearizable");
        assert_eq!(paris((round + 2) % 3).get(&newest).status, 200);
    }
    let wrong = paris(0).get("/api/v1/reservations?consistency=perhaps");
    assert_eq!(wrong.problem(400), "unreadable");

    // News and events of one broker come from all.
    let level = paris(1).get("/api/v1/instructions?role=requester&consistency=linearizable");
    assert_eq!(level.expect(200).as_array().unwrap().len(), 12);

    // Cut off, it grants nothing, says so, and marks what it shows.
    trio.brokers[2].cut_off();
    let stale = || {
        let answer = paris(2).get("/api/v1/reservations");
        answer.header("rear-stale").map(|age| (answer.status, age.parse::<u64>().unwrap()))
    };
    let (status, age) = eventually(stale).unwrap();
    assert!(status == 200 && age >= 3, "{status} {age}");
    assert_eq!(trio.administrator(2).get("/readyz").status, 503);
    let refused = paris(2).post("/api/v1/reservations", &request("1", "1Gi"));
    assert_eq!(refused.problem(503), "not-ready");
    let asked = paris(2).get("/api/v1/reservations?consistency=linearizable");
    assert_eq!(asked.problem(503), "not-ready");
    // The others go on.
    let made = paris(0).post("/api/v1/reservations", &request("1", "1Gi"));
    assert_eq!(made.expect(201)["requestedResources"], json!({"cpu": "1", "memory": "1Gi"}));
    trio.brokers[2].connect_again();
    trio.await_ready();
    assert_eq!(paris(2).get("/api/v1/reservations").header("rear-stale"), None);
    trio.end_the_same();
}
