//! API servers go away, and come back to what the ledger has: nothing is locked twice or released twice.

use std::fs;

use rear_testbed::eventually;

use super::stage::{Stage, cores, prepared, with_token};

#[test]
fn credentials_that_are_rotated_in_the_kubeconfig_count_without_a_restart() {
    let server = prepared();
    let kubectl = server.kubectl();
    // A token ends with what it is bound to.
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: first, namespace: rear-broker}}";
    kubectl.apply(secret).unwrap();
    let token = |more: &[&str]| {
        let token = ["create", "token", "rear-broker", "-n", "rear-broker"];
        kubectl.run(&[&token[..], more].concat()).unwrap().trim().to_owned()
    };
    let first = token(&["--bound-object-kind=Secret", "--bound-object-name=first"]);
    let path = |name: &str| server.folder().join(name);
    let (used, old) = (path("broker.kubeconfig"), path("old.kubeconfig"));
    for path in [&used, &old] {
        fs::write(path, with_token(&server, &first)).unwrap();
    }
    let next = path("next.kubeconfig");
    fs::write(&next, with_token(&server, &token(&[]))).unwrap();
    let stage = Stage::with(server, &["--shared-namespace=default"]);
    stage.lend("default", "paris", "8", "32Gi");
    fs::rename(next, used).unwrap();
    stage.ask(&["delete", "secret", "first", "-n", "rear-broker"]);
    let with_old = format!("--kubeconfig={}", old.display());
    let ask = ["get", "reservations", "-n", "default", &with_old];
    let refused = || stage.kubectl().run(&ask).is_err().then_some(());
    eventually(refused).expect("the old token does not count any more");
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    stage.until_left("default", "paris", "6");
    stage.end();
}

#[test]
fn an_api_server_that_was_away_finds_everything_as_the_ledger_has_it() {
    let mut stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "8", "32Gi");
    stage.wish("rome", "a", &format!("{}, duration: 1h", cores("2")));
    stage.until_phase("rome", "a", "Reserved");
    let id = stage.told("rome", "a", "reservationID");
    stage.server.process().kill().unwrap();
    // Meanwhile it is given back over HTTP.
    stage.broker.cluster("rome").delete(&format!("/api/v1/reservations/{id}")).expect(200);
    stage.server.process().start().unwrap();
    stage.server.await_ready().unwrap();
    stage.until_phase("rome", "a", "Released");
    stage.until_phase("paris", &id, "Released");
    stage.until_left("paris", "paris", "8");
    stage.wish("rome", "b", &cores("3"));
    stage.until_phase("rome", "b", "Reserved");
    stage.until_left("paris", "paris", "5");
    stage.end();
}
