//! The manifests apply, and the role is enough and not more.

use std::fs;

use rear_testbed::artifacts::{Artifact, Places};
use rear_testbed::{Kubectl, KubectlError, eventually};

use super::site::{Site, deploy};

#[test]
fn the_manifests_apply_to_a_real_api_server() {
    let site = Site::start();
    let kubectl = site.kubectl();
    for folder in ["agent", "agent/liqo"] {
        dry_run(&kubectl, folder).unwrap();
    }
    let samples = fs::read_to_string(deploy("agent/samples/resource-request.yaml")).unwrap();
    let dry = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    kubectl.run_with_input(&dry, &samples).unwrap();
}

/// What the API server says to a folder of manifests, without keeping anything.
fn dry_run(kubectl: &Kubectl, folder: &str) -> Result<String, KubectlError> {
    let folder = deploy(folder);
    let dry = ["apply", "--server-side", "--dry-run=server", "--force-conflicts", "-k"];
    kubectl.run(&[&dry[..], &[folder.to_str().unwrap()]].concat())
}

#[test]
fn certificates_and_monitors_are_what_cert_manager_and_the_prometheus_operator_define() {
    let site = Site::start();
    let kubectl = site.kubectl();
    for artifact in Artifact::DEFINITIONS {
        let definitions = Places::from_environment().find(*artifact).unwrap();
        kubectl.apply(&fs::read_to_string(definitions).unwrap()).unwrap();
    }
    site.ask(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    site.ask(&["create", "namespace", "cert-manager"]);
    for (folder, names) in [
        (
            "agent/certmanager",
            &[
                "clusterissuer.cert-manager.io/liqo-broker-ca-issuer",
                "certificate.cert-manager.io/agent-client-cert",
            ][..],
        ),
        ("agent/monitoring", &["servicemonitor.monitoring.coreos.com/rear-agent"]),
        ("authority", &["certificate.cert-manager.io/liqo-broker-ca"]),
    ] {
        // A definition that was established a moment ago may not be served yet.
        let said = eventually(|| dry_run(&kubectl, folder).ok()).expect("the manifests apply");
        for name in names {
            assert!(said.contains(name), "{folder}: {said}");
        }
    }
    // They are judged: what the definitions do not allow is refused.
    let wrong = fs::read_to_string(deploy("agent/certmanager/certificate.yaml")).unwrap();
    let wrong = wrong.replace("issuerRef:", "issuer:");
    assert!(kubectl.apply(&wrong).unwrap_err().to_string().contains("issuer"));
}

#[test]
fn the_authority_finds_its_way_from_the_brokers_cluster_to_another() {
    let (broker, other) = (Site::start(), Site::start());
    for site in [&broker, &other] {
        site.ask(&["create", "namespace", "cert-manager"]);
    }
    let name = "liqo-broker-ca-secret";
    let made = ["create", "secret", "generic", name, "-n", "cert-manager", "--from-literal=a=b"];
    broker.ask(&made);
    // As the page on installing says, line by line.
    let found = broker.ask(&["get", "secret", name, "-n", "cert-manager", "-o", "yaml"]);
    other.kubectl().run_with_input(&["apply", "-f", "-"], &found).unwrap();
    let kept = other.field_in("cert-manager", &format!("secret/{name}"), ".data.a");
    assert_eq!(kept.as_deref(), Some("Yg=="));
}

#[test]
fn the_role_allows_nothing_beyond_its_work() {
    let site = Site::start();
    let may = |verb: &str, what: &str, namespace: &str| {
        let account = "--as=system:serviceaccount:rear-agent:rear-agent";
        let asked = site.kubectl().run(&["auth", "can-i", verb, what, "-n", namespace, account]);
        asked.is_ok_and(|answer| answer.trim() == "yes")
    };
    assert!(may("list", "nodes", "default") && may("patch", "resourcerequests", "default"));
    assert!(may("delete", "providerinstructions.rear.fluidos.eu", "rear-agent"));
    for (verb, what, namespace) in [
        ("get", "secrets", "rear-agent"),
        ("list", "secrets", "default"),
        ("create", "pods", "default"),
        ("delete", "resourcerequests.rear.fluidos.eu", "default"),
        ("create", "resourcerequests.rear.fluidos.eu", "default"),
        ("patch", "nodes", "default"),
        ("get", "namespaces/default", "default"),
        ("list", "providerinstructions.rear.fluidos.eu", "default"),
        ("update", "clusterroles", "default"),
        ("delete", "leases.coordination.k8s.io", "rear-agent"),
    ] {
        assert!(!may(verb, what, namespace), "{verb} {what} in {namespace}");
    }
}

#[test]
fn columns_and_short_names_are_those_that_users_know() {
    let site = Site::start();
    let header = |kind: &str, object: &str| {
        site.kubectl().apply(object).unwrap();
        let shown = site.ask(&["get", kind, "-n", "rear-agent"]);
        shown.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let object = |kind: &str, spec: &str| {
        format!(
            "apiVersion: rear.fluidos.eu/v1alpha1\nkind: {kind}\n\
             metadata: {{name: a, namespace: rear-agent}}\nspec: {{{spec}}}\n"
        )
    };
    let request = object("ResourceRequest", "requestedCPU: '1', requestedMemory: 1Gi");
    assert_eq!(header("rr", &request), "NAME CPU MEMORY TARGET PHASE AGE");
    let amounts = "requestedCPU: '1', requestedMemory: 1Gi, reservationName: r";
    let used = object("ReservationInstruction", &format!("targetClusterID: b, {amounts}"));
    assert_eq!(header("ri", &used), "NAME RESERVATION TARGET CPU MEMORY");
    let kept = object("ProviderInstruction", &format!("requesterClusterID: b, {amounts}"));
    assert_eq!(header("pi", &kept), "NAME RESERVATION REQUESTER CPU MEMORY");
    let both = "{cpu: 1, memory: 1Gi}";
    let own = format!(
        "clusterID: a, timestamp: '', resources: {{capacity: {both}, allocatable: {both}, \
         allocated: {both}, available: {both}, used: {both}}}, cost: {{cpuCost: '1'}}"
    );
    let shown = header("adv", &object("Advertisement", &own));
    let columns =
        "NAME CLUSTERID ALLOCATABLE-CPU AVAILABLE-CPU ALLOCATABLE-MEM AVAILABLE-MEM PUBLISHED AGE";
    assert_eq!(shown, columns);
}
