//! Manifests and flows of the earlier system, by kubectl alone.

use std::fs;

use super::stage::{Stage, cores, deploy, prepared};

/// As the earlier broker's description shows it, status and all.
const CLUSTER_ADVERTISEMENT: &str = r#"
apiVersion: broker.fluidos.eu/v1alpha1
kind: ClusterAdvertisement
metadata:
  name: local-cluster-adv
spec:
  clusterID: "fd32c7d2-7cc6-46e6-80aa-d3d5c835586c"
  clusterName: "local-cluster"
  resources:
    capacity:
      cpu: "10"
      memory: "8025424Ki"
    allocated:
      cpu: "1050m"
      memory: "418Mi"
    reserved:
      cpu: "3000m"
      memory: "4Gi"
    available:
      cpu: "5950m"
      memory: "3597392Ki"
status:
  active: true
  score: "61.25"
  phase: "Active"
"#;

const RESERVATION: &str = r#"
apiVersion: broker.fluidos.eu/v1alpha1
kind: Reservation
metadata:
  name: my-workload
spec:
  requestedResources:
    cpu: "2"
    memory: "4Gi"
  duration: "1h"
  priority: 10
  requesterID: "user-team"
status:
  phase: "Reserved"
  targetClusterID: "fd32c7d2-7cc6-46e6-80aa-d3d5c835586c"
  reservedAt: "2025-11-22T15:00:00Z"
  expiresAt: "2025-11-22T16:00:00Z"
"#;

/// Every field that the earlier system had.
const EVERYTHING: &str = r#"
apiVersion: broker.fluidos.eu/v1alpha1
kind: ClusterAdvertisement
metadata: {name: rome-adv}
spec:
  clusterID: rome
  clusterName: Rome
  timestamp: "2026-01-02T15:04:05Z"
  endpointURL: https://rome.example
  resources:
    capacity: {cpu: 16, memory: 64Gi, gpu: 2, storage: 100Gi}
    allocatable: {cpu: "16", memory: 64Gi, gpu: "2", storage: 100Gi}
    allocated: {cpu: 500m, memory: 1Gi}
    reserved: {cpu: "0", memory: "0"}
    available: {cpu: 15500m, memory: 63Gi}
  cost: {cpuCost: "0.05", memoryCost: "0.01", currency: EUR}
---
apiVersion: broker.fluidos.eu/v1alpha1
kind: Reservation
metadata: {name: everything}
spec:
  requestedResources: {cpu: 1, memory: 1Gi, gpu: 1, storage: 10Gi}
  requesterID: paris
  targetClusterID: rome
  priority: 5
  duration: 30m
"#;

const LOCAL: &str = "fd32c7d2-7cc6-46e6-80aa-d3d5c835586c";

#[test]
fn manifests_of_the_earlier_system_apply_unchanged_and_are_answered() {
    let stage = Stage::shared();
    stage.apply("default", CLUSTER_ADVERTISEMENT);
    // What a manifest says is reserved is not what is reserved.
    let object = "clusteradvertisement/local-cluster-adv";
    stage.until("default", object, ".spec.resources.reserved.cpu", "0");
    stage.until("default", object, ".spec.resources.available.cpu", "8950m");
    stage.apply("default", RESERVATION);
    stage.until_phase("default", "my-workload", "Reserved");
    stage.until("default", "reservation/my-workload", ".spec.targetClusterID", LOCAL);
    assert_eq!(stage.told("default", "my-workload", "targetClusterID"), LOCAL);
    assert!(
        stage.told("default", "my-workload", "expiresAt")
            > stage.told("default", "my-workload", "reservedAt")
    );
    let message = format!("Use {LOCAL} for 2 CPU / 4Gi Memory");
    assert_eq!(stage.told("default", "my-workload", "message"), message);
    stage.until("default", object, ".spec.resources.available.cpu", "6950m");
    // Applied once more, they change nothing.
    stage.apply("default", RESERVATION);
    stage.apply("default", CLUSTER_ADVERTISEMENT);
    stage.until("default", object, ".spec.resources.available.cpu", "6950m");

    stage.apply("default", EVERYTHING);
    stage.until_phase("default", "everything", "Reserved");
    assert_eq!(stage.told("default", "everything", "targetClusterID"), "rome");
    stage.until("default", "clusteradvertisement/rome-adv", ".spec.resources.available.gpu", "1");
    stage.until(
        "default",
        "clusteradvertisement/rome-adv",
        ".spec.resources.reserved.storage",
        "10Gi",
    );
    let shown = stage.ask(&["get", "clusteradvertisements", "-n", "default"]);
    let head = shown.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(head, "NAME CLUSTERID AVAILABLE-CPU AVAILABLE-MEMORY SCORE ACTIVE AGE");
    let row = shown.lines().find(|line| line.starts_with("rome-adv")).unwrap();
    assert!(row.contains("rome") && row.contains("true") && row.contains('.'), "{row}");
    let shown = stage.ask(&["get", "reservations", "-n", "default"]);
    let head = shown.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(head, "NAME TARGET-CLUSTER CPU MEMORY PHASE AGE");
    stage.end();
}

#[test]
fn the_manifest_of_three_brokers_is_what_a_server_accepts() {
    let server = prepared();
    let manifest = deploy("shared").join("statefulset.yaml");
    let arguments = ["apply", "--dry-run=server", "--validate=strict", "-f"];
    let said =
        server.kubectl().run(&[&arguments[..], &[manifest.to_str().unwrap()]].concat()).unwrap();
    for kind in ["service/", "statefulset.apps/", "poddisruptionbudget.policy/"] {
        assert!(said.contains(&format!("{kind}rear-broker created (server dry run)")), "{said}");
    }
    // Every flag is one that the program has.
    let text = fs::read_to_string(manifest).unwrap();
    let flags = text.lines().filter_map(|line| line.trim().strip_prefix("- --"));
    for flag in flags.map(|flag| flag.split('=').next().unwrap()) {
        assert!(rear_broker::config::KEYS.iter().any(|key| key.name == flag), "--{flag}");
    }
}

/// What an agent of the earlier system writes of a cluster that has more pods than room.
const OVERFULL: &str = r#"
apiVersion: broker.fluidos.eu/v1alpha1
kind: ClusterAdvertisement
metadata: {name: oslo-adv}
spec:
  clusterID: oslo
  timestamp: "2026-01-02T15:04:05Z"
  resources:
    capacity: {cpu: "4", memory: 16Gi}
    allocatable: {cpu: "4", memory: 16Gi}
    allocated: {cpu: 5500m, memory: 1Gi}
    available: {cpu: -1500m, memory: 15Gi}
  cost: {cpuCost: "0.05", currency: EUR}
"#;

#[test]
fn an_overfull_cluster_of_the_earlier_system_is_heard_and_one_that_counts_backwards_is_not() {
    let stage = Stage::shared();
    stage.apply("default", OVERFULL);
    let object = "clusteradvertisement/oslo-adv";
    stage.until("default", object, ".spec.resources.available.cpu", "0");
    let overcommitted = ".status.conditions[?(@.type=='Overcommitted')].status";
    stage.until("default", object, overcommitted, "True");
    // What the broker could not read would keep it from reading everyone's.
    let patch = |spec: &str| {
        let patch = format!(r#"{{"spec":{spec}}}"#);
        let object = ["clusteradvertisement", "oslo-adv", "-n", "default", "--type=merge", "-p"];
        stage.kubectl().run(&[&["patch"], &object[..], &[&patch]].concat())
    };
    for wrong in [r#"{"epoch":-1}"#, r#"{"sequence":-1}"#] {
        assert!(patch(wrong).unwrap_err().to_string().contains("greater than or equal to 0"));
    }
    stage.end();
}

#[test]
fn three_reservations_on_8950m_lock_until_the_third_fails_with_a_message() {
    let stage = Stage::shared();
    stage.apply("default", CLUSTER_ADVERTISEMENT);
    let left = |cpu: &str| {
        let object = "clusteradvertisement/local-cluster-adv";
        stage.until("default", object, ".spec.resources.available.cpu", cpu);
    };
    left("8950m");
    stage.wish("default", "first", &cores("3"));
    stage.until_phase("default", "first", "Reserved");
    left("5950m");
    stage.wish("default", "second", &cores("5"));
    stage.until_phase("default", "second", "Reserved");
    left("950m");
    stage.wish("default", "third", &cores("2"));
    stage.until_phase("default", "third", "Failed");
    let why = stage.told("default", "third", "message");
    assert!(why.contains("cpu") && why.contains("950m"), "{why}");
    assert_eq!(stage.told("default", "third", "code"), "no-room");
    // Deleting gives back, and what failed had nothing.
    stage.ask(&["delete", "reservation", "third", "first", "-n", "default"]);
    left("3950m");
    stage.ask(&["delete", "reservation", "second", "-n", "default"]);
    left("8950m");
    stage.end();
}

#[test]
fn an_agents_reservation_names_its_target_where_agents_look() {
    let stage = Stage::shared();
    stage.lend("default", "rome", "4", "16Gi");
    stage.lend("default", "paris", "16", "64Gi");
    let spec = "requesterID: rome, requestedResources: {cpu: '4', memory: 8Gi}";
    stage.wish("default", "rome-request", spec);
    stage.until_phase("default", "rome-request", "Reserved");
    stage.until("default", "reservation/rome-request", ".spec.targetClusterID", "paris");
    assert_eq!(
        stage.told("default", "rome-request", "message"),
        "Use paris for 4 CPU / 8Gi Memory"
    );
    // A wish cannot change into another one.
    let more = r#"{"spec":{"requestedResources":{"cpu":"5","memory":"8Gi"}}}"#;
    let patch =
        ["patch", "reservation", "rome-request", "-n", "default", "--type=merge", "-p", more];
    let refused = stage.kubectl().run(&patch).unwrap_err().to_string();
    assert!(refused.contains("what is asked for cannot change"), "{refused}");
    stage.end();
}

#[test]
fn the_manifests_of_the_broker_apply_to_a_real_api_server() {
    let server = prepared();
    let kubectl = server.kubectl();
    let dry = ["apply", "--server-side", "--dry-run=server", "--force-conflicts", "-k"];
    kubectl.run(&["create", "namespace", "rear-cluster-1"]).unwrap();
    for folder in ["broker", "broker/cluster"] {
        let folder = deploy(folder);
        kubectl.run(&[&dry[..], &[folder.to_str().unwrap()]].concat()).unwrap();
    }
    for sample in ["clusteradvertisement", "reservation"] {
        let text = fs::read_to_string(deploy(&format!("broker/samples/{sample}.yaml"))).unwrap();
        let dry = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
        kubectl.run_with_input(&dry, &text).unwrap();
    }
    kubectl.run(&["kustomize", deploy("broker/certmanager").to_str().unwrap()]).unwrap();
    let may = |verb: &str, what: &str, namespace: &str| {
        let account = "--as=system:serviceaccount:rear-broker:rear-broker";
        let asked = kubectl.run(&["auth", "can-i", verb, what, "-n", namespace, account]);
        asked.is_ok_and(|answer| answer.trim() == "yes")
    };
    assert!(may("patch", "reservations.broker.fluidos.eu/any", "default"));
    for (verb, what) in [
        ("get", "secrets"),
        ("create", "pods"),
        ("delete", "clusteradvertisements.broker.fluidos.eu/any"),
        ("patch", "namespaces/default"),
        ("get", "leases.coordination.k8s.io/other"),
        ("delete", "leases.coordination.k8s.io/rear-broker"),
    ] {
        assert!(!may(verb, what, "default"), "{verb} {what}");
    }
}
