//! The life of a reservation that is a resource, from both sides.

use rear_agent_sdk::BrokerCommunicator;
use rear_api::moment;
use rear_engine::Timestamp;
use serde_json::json;

use super::contracts::{block_on, connect, of_cluster};
use super::stage::{Stage, cores};

#[test]
fn conditions_of_the_requester_move_it_on_and_deleting_releases_once() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    stage.say("default", "a", "RequesterActive", "");
    stage.until_phase("default", "a", "Active");
    stage.until_left("default", "paris", "6");
    stage.say("default", "a", "RequesterReleased", "");
    stage.until_phase("default", "a", "Released");
    stage.until_left("default", "paris", "8");
    assert_eq!(stage.told("default", "a", "message"), "released by the requester");
    // What has ended holds nothing: its finalizer is gone, and deleting it gives nothing back a second time.
    stage.ask(&["delete", "reservation", "a", "-n", "default", "--timeout=60s"]);
    stage.until_left("default", "paris", "8");
    stage.end();
}

#[test]
fn deleting_waits_until_the_capacity_is_free_and_never_wedges() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &cores("2"));
    let finalizer = ".metadata.finalizers[0]";
    let name = "reservation.broker.fluidos.eu/finalizer";
    stage.until("default", "reservation/a", finalizer, name);
    stage.ask(&["delete", "reservation", "a", "-n", "default", "--timeout=60s"]);
    stage.until_left("default", "paris", "8");
    // One whose finalizer a hand has taken away is given back all the same.
    stage.wish("default", "b", &cores("3"));
    stage.until("default", "reservation/b", finalizer, name);
    let none = r#"{"metadata":{"finalizers":null}}"#;
    stage.ask(&["delete", "reservation", "b", "-n", "default", "--wait=false"]);
    drop(stage.kubectl().run(&[
        "patch",
        "reservation",
        "b",
        "-n",
        "default",
        "--type=merge",
        "-p",
        none,
    ]));
    stage.until_gone("default", "reservation/b");
    stage.until_left("default", "paris", "8");
    // With its namespace too.
    stage.bind("oslo", "oslo");
    stage.wish("oslo", "c", &cores("1"));
    stage.until("oslo", "reservation/c", finalizer, name);
    stage.until_left("default", "paris", "7");
    stage.ask(&["delete", "reservation", "--all", "-n", "oslo", "--timeout=60s"]);
    stage.until_left("default", "paris", "8");
    stage.end();
}

#[test]
fn a_new_end_is_accepted_or_refused_with_a_reason_and_the_end_comes() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &format!("{}, duration: 1h", cores("2")));
    stage.until_phase("default", "a", "Reserved");
    let renew = |end: &str| {
        let patch = format!(r#"{{"spec":{{"expiresAt":"{end}"}}}}"#);
        stage.ask(&["patch", "reservation", "a", "-n", "default", "--type=merge", "-p", &patch]);
    };
    renew("2020-01-01T00:00:00Z");
    let renewed = ".status.conditions[?(@.type==\"Renewed\")].reason";
    stage.until("default", "reservation/a", renewed, "end-has-passed");
    stage.until_phase("default", "a", "Reserved");
    stage.wish("default", "short", &format!("{}, duration: 2s", cores("1")));
    stage.until_phase("default", "short", "Released");
    assert_eq!(stage.told("default", "short", "message"), "expired");
    stage.until_left("default", "paris", "6");
    stage.end();
}

#[test]
fn a_dry_run_explains_and_locks_nothing() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &format!("{}, dryRun: true", cores("2")));
    stage.until_phase("default", "a", "Explained");
    assert_eq!(stage.told("default", "a", "explanation.target"), "paris");
    stage.until_left("default", "paris", "8");
    stage.end();
}

#[test]
fn a_renewal_by_http_outlives_an_older_wish() {
    let mut stage = Stage::bound(&[]);
    for cluster in ["rome", "paris"] {
        stage.kubectl().apply(&of_cluster(cluster)).unwrap();
        stage.until_served(cluster);
    }
    stage.lend("paris", "paris", "8", "32Gi");
    stage.wish("rome", "a", &format!("{}, duration: 1h", cores("2")));
    stage.until_phase("rome", "a", "Reserved");
    let in_days = |days: i64| {
        let seconds = rear_agent_sdk::now().as_nanos() / 1_000_000_000 + days * 24 * 60 * 60;
        moment::text(Timestamp::from_seconds(seconds))
    };
    let (early, late) = (in_days(1), in_days(2));
    let ends = |stage: &Stage, end: &str| {
        stage.until("rome", "reservation/a", ".status.expiresAt", end);
    };
    let wish = format!(r#"{{"spec":{{"expiresAt":"{early}"}}}}"#);
    stage.ask(&["patch", "reservation", "a", "-n", "rome", "--type=merge", "-p", &wish]);
    ends(&stage, &early);
    let path = format!("/api/v1/reservations/{}/renew", stage.told("rome", "a", "reservationID"));
    let renewed = stage.broker.cluster("rome").post(&path, &json!({ "expiresAt": late }));
    assert_eq!(renewed.status, 200);
    ends(&stage, &late);
    // Whatever has it looked at again: a word of the requester, a start of the broker.
    stage.say("rome", "a", "RequesterActive", "");
    stage.until_phase("rome", "a", "Active");
    stage.broker.stop();
    stage.broker.restart();
    stage.wish("rome", "b", &cores("1"));
    stage.until_phase("rome", "b", "Reserved");
    ends(&stage, &late);
    // Over resources the same end can be wanted again.
    block_on(async {
        let rome = connect(&stage.server, "rome", "rome").await;
        let until = moment::read(&early).unwrap();
        assert_eq!(rome.renew("a", until).await.unwrap().status.expires_at, Some(early.clone()));
    });
    ends(&stage, &early);
    stage.end();
}
