//! A ledger that was restored from a backup: what was granted since is waited for, and nothing of it is left over.

use std::fs;
use std::process::Command;

use super::process::Broker;
use super::stage::{Stage, cores};

const FINALIZER: &str = "reservation.broker.fluidos.eu/finalizer";

/// Has the ledger of a broker that does not run saved.
fn save(broker: &Broker) {
    snapshot(broker, "save");
}

/// Puts what was saved in its place.
fn restore(broker: &Broker) {
    fs::remove_file(broker.ledger()).unwrap();
    snapshot(broker, "restore");
}

fn snapshot(broker: &Broker, command: &str) {
    let data = broker.ledger().parent().unwrap().to_owned();
    let mut run = Command::new(env!("CARGO_BIN_EXE_rear-broker"));
    run.args(["snapshot", command]).arg(data.with_file_name("saved")).arg("--data").arg(data);
    let output = run.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// What Paris says that it keeps for Rome.
fn holding(ids: &[String]) -> String {
    let held = ids.iter().map(|id| {
        format!(
            r#"{{"reservationID":"{id}","requesterID":"rome","resources":{{"cpu":"2","memory":"1Gi"}}}}"#
        )
    });
    let held: Vec<_> = held.collect();
    format!(r#"{{"spec":{{"holding":[{}]}}}}"#, held.join(","))
}

#[test]
fn what_was_granted_after_the_backup_waits_for_its_provider_also_when_it_is_deleted() {
    let mut stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.broker.stop();
    save(&stage.broker);
    stage.broker.restart();
    let ids = ["stays", "goes"].map(|name| {
        stage.wish("default", name, &format!("requesterID: rome, {}", cores("2")));
        let object = format!("reservation/{name}");
        stage.until("default", &object, ".metadata.finalizers[0]", FINALIZER);
        stage.told("default", name, "reservationID")
    });
    stage.broker.stop();
    restore(&stage.broker);
    stage.broker.restart();

    for name in ["stays", "goes"] {
        stage.until_phase("default", name, "Pending");
    }
    // Both are looked at once more; what comes after that is answered, so they have been.
    stage.ask(&["annotate", "reservation", "stays", "-n", "default", "seen=again"]);
    stage.ask(&["delete", "reservation", "goes", "-n", "default", "--wait=false"]);
    stage.wish("default", "new", &cores("1"));
    stage.until_phase("default", "new", "Failed");
    for name in ["stays", "goes"] {
        assert_eq!(stage.told("default", name, "phase"), "Pending");
        assert_eq!(stage.told("default", name, "targetClusterID"), "paris");
        let object = format!("reservation/{name}");
        stage.until("default", &object, ".metadata.finalizers[0]", FINALIZER);
    }

    let paris = ["patch", "clusteradvertisement", "paris-adv", "-n", "default", "--type=merge"];
    stage.ask(&[&paris[..], &["-p", &holding(&ids)]].concat());
    stage.until_phase("default", "stays", "Reserved");
    stage.until_gone("default", "reservation/goes");
    stage.until_left("default", "paris", "6");
    stage.end();
}
