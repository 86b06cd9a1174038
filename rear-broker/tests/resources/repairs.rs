//! The ledger is the truth: whatever a hand writes into the objects is put right.

use super::stage::{Stage, cores};

#[test]
fn edits_of_what_the_broker_writes_are_repaired() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    stage.until_left("default", "paris", "6");
    let merge = |object: &str, subresource: &[&str], patch: &str| {
        let patch = ["patch", object, "-n", "default", "--type=merge", "-p", patch];
        stage.ask(&[&patch[..], subresource].concat());
    };
    let adv = "clusteradvertisement/paris-adv";
    let lie = r#"{"spec":{"resources":{"reserved":{"cpu":"0","memory":"0"},"available":{"cpu":"99","memory":"1Ti"}}}}"#;
    merge(adv, &[], lie);
    stage.until_left("default", "paris", "6");
    stage.until("default", adv, ".spec.resources.reserved.cpu", "2");
    merge(
        adv,
        &["--subresource=status"],
        r#"{"status":{"active":false,"score":"1.00","phase":"Inactive"}}"#,
    );
    stage.until("default", adv, ".status.phase", "Active");
    let status = ["--subresource=status"];
    for lie in [
        r#"{"status":{"phase":"Released","message":"it is over"}}"#,
        r#"{"status":{"phase":"Active","targetClusterID":"oslo"}}"#,
        r#"{"status":{"expiresAt":"2020-01-01T00:00:00Z"}}"#,
        r#"{"status":null}"#,
    ] {
        merge("reservation/a", &status, lie);
        stage.until(
            "default",
            "reservation/a",
            ".status.message",
            "Use paris for 2 CPU / 1Gi Memory",
        );
        stage.until_phase("default", "a", "Reserved");
        stage.until("default", "reservation/a", ".status.targetClusterID", "paris");
        // Nothing is left of it.
        let object = stage.ask(&["get", "reservation", "a", "-n", "default", "-o=yaml"]);
        assert!(!object.contains("2020-01-01") || lie.contains("expiresAt"), "{object}");
    }
    stage.until("default", "reservation/a", ".status.phase", "Reserved");
    merge("reservation/a", &[], r#"{"spec":{"targetClusterID":"oslo"}}"#);
    stage.until("default", "reservation/a", ".spec.targetClusterID", "paris");
    stage.until_left("default", "paris", "6");
    stage.end();
}

#[test]
fn deleting_an_advertisement_loses_no_promise() {
    let stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    stage.until_left("default", "paris", "6");
    stage.ask(&["delete", "clusteradvertisement", "paris-adv", "-n", "default", "--wait=false"]);
    stage.until_left("default", "paris", "6");
    stage.lend("default", "paris", "8", "32Gi");
    stage.until_left("default", "paris", "6");
    stage.wish("default", "b", &cores("7"));
    stage.until_phase("default", "b", "Failed");
    stage.end();
}

#[test]
fn what_was_changed_while_the_broker_was_away_is_put_right() {
    let mut stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    for name in ["kept", "deleted", "edited"] {
        stage.wish("default", name, &cores("1"));
        stage.until(
            "default",
            &format!("reservation/{name}"),
            ".metadata.finalizers[0]",
            "reservation.broker.fluidos.eu/finalizer",
        );
    }
    stage.until_left("default", "paris", "5");
    stage.broker.stop();
    let forced = r#"{"metadata":{"finalizers":null}}"#;
    stage.ask(&["delete", "reservation", "deleted", "-n", "default", "--wait=false"]);
    stage.ask(&["patch", "reservation", "deleted", "-n", "default", "--type=merge", "-p", forced]);
    let lie = r#"{"status":{"phase":"Failed"}}"#;
    stage.ask(&[
        "patch",
        "reservation",
        "edited",
        "-n",
        "default",
        "--subresource=status",
        "--type=merge",
        "-p",
        lie,
    ]);
    stage.wish("default", "new", &cores("3"));
    stage.broker.restart();
    stage.until_phase("default", "new", "Reserved");
    stage.until_phase("default", "edited", "Reserved");
    stage.until_left("default", "paris", "3");
    stage.end();
}
