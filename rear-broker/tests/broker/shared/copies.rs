//! `rear-broker store copy`: a ledger goes from one broker's file to etcd, is used there, and comes back.

use std::path::Path;
use std::process::Output;

use rear_testbed::{Etcd, Members};
use serde_json::Value;

use crate::client::Client;
use crate::pki::Authority;
use crate::process::{Broker, apart, program, signal, started};
use crate::tools::{advertise, reserve};

fn copy(to: &str, data: &Path, etcd: &str) -> Output {
    let mut command = apart();
    command.args(["store", "copy", "--to", to, "--etcd-endpoints", etcd, "--data"]).arg(data);
    command.output().unwrap()
}

/// Its ids, in order.
fn reservations(client: &Client) -> Vec<String> {
    let all = client.get("/api/v1/reservations").expect(200);
    let id = |kept: &Value| kept["id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = all.as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

/// Serves a folder until `work` is done, and ends as it should.
fn serving(folder: &Path, authority: &Authority, flags: &[String], work: impl FnOnce(&Client)) {
    let (mut child, address, _) = started(&mut program(folder, flags));
    work(&Client::new(address, authority, Some(&authority.cluster("paris"))));
    signal(&child, "TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_ledger_goes_to_etcd_by_a_command_and_comes_back_by_another() {
    let mut single = Broker::start();
    advertise(&single.cluster("rome"), "rome", "100", "100Gi");
    let paris = single.cluster("paris");
    (0..5).for_each(|_| drop(reserve(&paris, "1", "1Gi")));
    let before = reservations(&paris);
    assert!(single.stop().success());
    let etcd = Etcd::start(Members::One).unwrap();
    let endpoint = etcd.endpoints().remove(0);
    let data = single.ledger().parent().unwrap().to_owned();

    let copied = copy("etcd", &data, &endpoint);
    let said = String::from_utf8_lossy(&copied.stdout).into_owned();
    assert!(copied.status.success() && said.contains("in one place only"), "{copied:?}");
    let again = copy("etcd", &data, &endpoint);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && said.contains("is not overwritten"), "{again:?}");

    let folder = tempfile::tempdir().unwrap();
    single.authority.server().write(&folder.path().join("certs"), &single.authority);
    let flags = ["--store=etcd".to_owned(), format!("--etcd-endpoints={endpoint}")];
    let mut after = Vec::new();
    serving(folder.path(), &single.authority, &flags, |paris| {
        assert_eq!(reservations(paris), before);
        reserve(paris, "1", "1Gi");
        after = reservations(paris);
    });

    // Back into a folder of its own; not over the file that is there.
    let refused = copy("redb", &data, &endpoint);
    assert!(!refused.status.success(), "{refused:?}");
    let back = tempfile::tempdir().unwrap();
    single.authority.server().write(&back.path().join("certs"), &single.authority);
    std::fs::create_dir(back.path().join("data")).unwrap();
    let copied = copy("redb", &back.path().join("data"), &endpoint);
    assert!(copied.status.success(), "{copied:?}");
    serving(back.path(), &single.authority, &[], |paris| {
        assert_eq!(reservations(paris), after);
        reserve(paris, "1", "1Gi");
    });
    let verified = apart().arg("verify").arg("--data").arg(back.path().join("data")).output();
    assert!(verified.unwrap().status.success());
}
