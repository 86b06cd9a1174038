//! Which ledger may serve which objects, and which of several copies serves them.

use std::fs;
use std::path::Path;
use std::process::Output;

use rear_testbed::eventually;

use super::process::{Broker, program, started};
use super::stage::{Stage, arguments, cores, prepared, verify};

fn ends(folder: &Path, arguments: &[&str]) -> Output {
    let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
    program(folder, &arguments).output().unwrap()
}

/// A folder with the certificates of a broker and nothing else.
fn elsewhere(broker: &Broker) -> tempfile::TempDir {
    let elsewhere = tempfile::tempdir().unwrap();
    let certificates = elsewhere.path().join("certs");
    fs::create_dir(&certificates).unwrap();
    for file in ["tls.crt", "tls.key", "ca.crt"] {
        fs::copy(broker.certificates().join(file), certificates.join(file)).unwrap();
    }
    elsewhere
}

#[test]
fn a_ledger_that_is_another_or_older_does_not_serve_the_objects() {
    let mut stage = Stage::shared();
    let flags = arguments(&stage.server, &["--shared-namespace=default"]);
    stage.lend("default", "paris", "8", "32Gi");
    let data = stage.broker.ledger().parent().unwrap().to_owned();
    stage.broker.stop();
    let old = fs::read(stage.broker.ledger()).unwrap();
    stage.broker.restart();
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    stage.broker.stop();

    let other = ends(elsewhere(&stage.broker).path(), &flags);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(74), "{said}");
    assert!(
        said.contains("is of ledger") && said.contains("--kubernetes-replaces-ledger="),
        "{said}"
    );

    let newest = fs::read(stage.broker.ledger()).unwrap();
    fs::write(stage.broker.ledger(), old).unwrap();
    let older = ends(data.parent().unwrap(), &flags);
    let said = String::from_utf8_lossy(&older.stderr).into_owned();
    assert_eq!(older.status.code(), Some(74), "{said}");
    assert!(said.contains("it is an old copy"), "{said}");
    // Nothing was repaired from it.
    assert_eq!(stage.told("default", "a", "phase"), "Reserved");
    fs::write(stage.broker.ledger(), newest).unwrap();
    stage.broker.restart();
    stage.ask(&["delete", "reservation", "a", "-n", "default", "--timeout=60s"]);
    stage.until_left("default", "paris", "8");
    stage.end();
}

#[test]
fn of_two_copies_one_serves_and_the_other_takes_over() {
    let server = prepared();
    let stage = Stage::with(server, &["--shared-namespace=default", "--leader-elect"]);
    stage.lend("default", "paris", "8", "32Gi");
    stage.wish("default", "a", &cores("2"));
    stage.until_phase("default", "a", "Reserved");
    let flags = arguments(&stage.server, &["--shared-namespace=default", "--leader-elect"]);
    let flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
    let folder = stage.broker.ledger().parent().unwrap().parent().unwrap().to_owned();
    let waiting = std::thread::spawn(move || started(&mut program(&folder, &flags)));
    let Stage { mut broker, server } = stage;
    broker.stop();
    let (mut second, _, _) = waiting.join().unwrap();
    let kubectl = server.kubectl();
    let wish = super::stage::reservation("b", &cores("3"));
    kubectl.run_with_input(&["create", "-n", "default", "-f", "-"], &wish).unwrap();
    let left =
        ["get", "clusteradvertisement", "paris-adv", "-o=jsonpath={.spec.resources.available.cpu}"];
    eventually(|| (kubectl.run(&left).ok()? == "3").then_some(())).expect("the second copy serves");
    second.kill().unwrap();
    second.wait().unwrap();
    verify(&broker.ledger());
}
