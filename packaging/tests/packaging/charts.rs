//! The Helm charts, rendered by helm and tried on a real API server.

use std::fs;
use std::process::{Command, Output};

use rear_packaging::chart::{AGENT, BROKER, Chart};
use rear_testbed::artifacts::{Artifact, GoModule, Places};
use rear_testbed::{ApiServer, eventually};
use serde_json::Value;

use super::tree::root;

fn helm(words: &[&str]) -> Output {
    let helm = Places::from_environment().find(Artifact::Helm).unwrap();
    let folder = tempfile::tempdir().unwrap();
    Command::new(helm)
        .args(words)
        // Else it asks for the cluster of its own build.
        .args(["--kube-version", GoModule::Kubernetes.version()])
        .current_dir(root())
        // What the person who runs this has told helm does not count here.
        .env("HELM_CONFIG_HOME", folder.path())
        .env("HELM_CACHE_HOME", folder.path())
        .env("HELM_DATA_HOME", folder.path())
        .output()
        .unwrap()
}

fn rendered(chart: &Chart, namespace: &str, settings: &[&str]) -> String {
    let name = chart.folder.rsplit('/').next().unwrap();
    let mut words =
        vec!["template", name, chart.folder, "--namespace", namespace, "--include-crds"];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = helm(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Why helm refuses these settings.
fn refusal(chart: &Chart, settings: &[&str]) -> String {
    let mut words = vec!["template", "a", chart.folder];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = helm(&words);
    assert!(!output.status.success(), "{settings:?} is accepted");
    String::from_utf8(output.stderr).unwrap()
}

/// The objects of a text of several documents, in the order of their kinds and names, whatever order they came in.
fn objects(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let mut objects: Vec<_> = documents.into_iter().filter(|object| !object.is_null()).collect();
    objects.sort_by_key(|object| {
        let part =
            |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
        (part("/kind"), part("/metadata/name"))
    });
    objects
}

const AGENT_SETTINGS: [&str; 1] = ["brokerURL=https://broker.example.com:8443"];

#[test]
fn helm_finds_nothing_to_criticise() {
    for (chart, settings) in [(&AGENT, &AGENT_SETTINGS[..]), (&BROKER, &[])] {
        let mut words = vec!["lint", "--strict", chart.folder];
        words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let output = helm(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// What `kubectl apply -k` would apply, without the namespace, which helm makes itself, and with what the chart adds
/// to say how an image is fetched.
fn manifests(server: &ApiServer, folders: &[&str]) -> Vec<Value> {
    let folders = folders.iter().map(|folder| root().join(folder));
    let texts: Vec<_> = folders
        .map(|folder| server.kubectl().run(&["kustomize", folder.to_str().unwrap()]).unwrap())
        .collect();
    let mut objects = objects(&texts.join("\n---\n"));
    objects.retain(|object| object["kind"] != "Namespace");
    for object in &mut objects {
        for container in object
            .pointer_mut("/spec/template/spec/containers")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            container["imagePullPolicy"] = "IfNotPresent".into();
        }
    }
    objects
}

#[test]
fn with_its_defaults_the_chart_of_the_agent_is_what_the_manifests_are() {
    let server = ApiServer::start().unwrap();
    let chart = objects(&rendered(&AGENT, "rear-agent", &AGENT_SETTINGS));
    assert_eq!(chart, manifests(&server, &["deploy/agent"]));
    let everything = [
        AGENT_SETTINGS[0],
        "certManager.enabled=true",
        "certManager.clusterID=cluster-1",
        "monitoring.enabled=true",
    ];
    let chart = objects(&rendered(&AGENT, "rear-agent", &everything));
    let folders = ["deploy/agent", "deploy/agent/certmanager", "deploy/agent/monitoring"];
    let mut manifests = manifests(&server, &folders);
    // The issuer has the authority's key: a chart that each cluster installs does not make one.
    manifests.retain(|object| object["kind"] != "ClusterIssuer");
    assert_eq!(chart, manifests);
}

#[test]
fn with_its_defaults_the_chart_of_the_broker_is_what_the_manifests_are() {
    let server = ApiServer::start().unwrap();
    let chart = objects(&rendered(&BROKER, "rear-broker", &[]));
    assert_eq!(chart, manifests(&server, &["deploy/broker"]));
    let chart = objects(&rendered(&BROKER, "rear-broker", &["certManager.enabled=true"]));
    assert_eq!(chart, manifests(&server, &["deploy/broker", "deploy/broker/certmanager"]));
}

#[test]
fn an_api_server_accepts_what_the_charts_make() {
    let server = ApiServer::start().unwrap();
    let kubectl = server.kubectl();
    kubectl.run(&["create", "namespace", "elsewhere"]).unwrap();
    for artifact in Artifact::DEFINITIONS {
        let definitions = Places::from_environment().find(*artifact).unwrap();
        kubectl.apply(&fs::read_to_string(definitions).unwrap()).unwrap();
    }
    let settings = [
        AGENT_SETTINGS[0],
        "certManager.enabled=true",
        "certManager.clusterID=rome",
        "monitoring.enabled=true",
        "replicas=2",
        "liqo.kubeconfigSecrets=true",
        "liqo.localKubeconfigSecret=ours",
        "image.repository=registry.example.org/rear-agent",
        "nodeSelector.disk=ssd",
        "extraArgs[0]=--reject-when-full",
    ];
    let chart = rendered(&AGENT, "elsewhere", &settings);
    assert!(chart.contains("--liqo-kubeconfig-secrets") && chart.contains("--reject-when-full"));
    let dry = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    let accepted = |chart: &str| {
        // A definition that was made a moment ago may not be served yet.
        let said = eventually(|| kubectl.run_with_input(&dry, chart).ok());
        said.unwrap_or_else(|| kubectl.run_with_input(&dry, chart).unwrap())
    };
    let said = accepted(&chart);
    for kind in ["certificate.cert-manager.io/", "servicemonitor.monitoring.coreos.com/"] {
        assert!(said.contains(kind), "{said}");
    }
    let settings = [
        "certManager.enabled=true",
        "certManager.names={broker.example.com}",
        "service.type=LoadBalancer",
        "interfaces={http}",
        "storage.size=10Gi",
        "storage.className=fast",
        "extraArgs[0]=--max-duration=720h",
    ];
    let chart = rendered(&BROKER, "elsewhere", &settings);
    assert!(chart.contains("--broker-interface=http\n") && chart.contains("--max-duration=720h"));
    assert!(accepted(&chart).contains("statefulset.apps/rear-broker"));
}

#[test]
fn values_that_make_no_sense_are_refused_by_name() {
    for (setting, named) in [
        ("brokerURL=http://broker.example.com", "brokerURL"),
        ("brokerUrl=https://broker.example.com", "brokerUrl"),
        ("replicas=many", "replicas"),
        ("certManager.clusterID=Cluster_1", "clusterID"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("extraArgs[0]=leader-elect", "extraArgs"),
    ] {
        let told = refusal(&AGENT, &[AGENT_SETTINGS[0], setting]);
        assert!(told.contains(named), "{setting}: {told}");
    }
    for (setting, named) in [
        ("interfaces={http,smoke}", "interfaces"),
        ("storage.size=much", "size"),
        ("service.type=Ingress", "type"),
        ("replicas=2", "replicas"),
    ] {
        let told = refusal(&BROKER, &[setting]);
        assert!(told.contains(named), "{setting}: {told}");
    }
    let told = refusal(&AGENT, &[]);
    assert!(told.contains("the address of your broker"), "{told}");
    let told = refusal(&AGENT, &[AGENT_SETTINGS[0], "certManager.enabled=true"]);
    assert!(told.contains("the id of this cluster"), "{told}");
    let told = refusal(&AGENT, &[AGENT_SETTINGS[0], "liqo.kubeconfigSecrets=true"]);
    assert!(told.contains("this cluster's own kubeconfig"), "{told}");
}

#[test]
fn with_liqo_the_chart_of_the_agent_is_what_the_patched_manifests_are() {
    let server = ApiServer::start().unwrap();
    let kubectl = server.kubectl();
    let settings = [
        AGENT_SETTINGS[0],
        "liqo.kubeconfigSecrets=true",
        "liqo.localKubeconfigSecret=liqo-local-kubeconfig",
    ];
    let chart = objects(&rendered(&AGENT, "rear-agent", &settings));
    kubectl.run(&["create", "namespace", "rear-agent"]).unwrap();
    for folder in ["deploy/agent", "deploy/agent/liqo"] {
        let folder = root().join(folder);
        let apply = ["apply", "--server-side", "-k", folder.to_str().unwrap()];
        eventually(|| kubectl.run(&apply).ok()).expect("the manifests apply");
    }
    let patch = root().join("deploy/agent/liqo/deployment-patch.yaml");
    let patch = format!("--patch-file={}", patch.display());
    let deployment = ["deployment", "rear-agent", "-n", "rear-agent"];
    kubectl.run(&[&["patch"], &deployment[..], &["--type=json", &patch]].concat()).unwrap();
    let patched = kubectl.run(&[&["get"], &deployment[..], &["-o=json"]].concat()).unwrap();
    let patched: Value = serde_json::from_str(&patched).unwrap();
    let charted = chart.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let sorted = |object: &Value, path: &str| {
        let mut parts = object.pointer(path).and_then(Value::as_array).unwrap().clone();
        parts.sort_by_key(ToString::to_string);
        parts
    };
    for part in ["args", "volumeMounts"] {
        let member = format!("/spec/template/spec/containers/0/{part}");
        assert_eq!(sorted(charted, &member), sorted(&patched, &member));
    }
    let named = |object: &Value| -> Vec<_> {
        let volumes = sorted(object, "/spec/template/spec/volumes");
        let secret = |it: &Value| it.pointer("/secret/secretName").map(ToString::to_string);
        let mut named: Vec<_> =
            volumes.iter().map(|it| (it["name"].to_string(), secret(it))).collect();
        named.sort();
        named
    };
    assert_eq!(named(charted), named(&patched));
}

#[test]
fn a_chart_wants_no_older_kubernetes_than_its_definitions_do() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    for chart in [&AGENT, &BROKER] {
        let about: Value =
            serde_saphyr::from_str(&read(&format!("{}/Chart.yaml", chart.folder))).unwrap();
        let wanted = about["kubeVersion"].as_str().unwrap();
        let minor = wanted.trim_start_matches(">=1.").split('.').next().unwrap();
        let minor: u32 = minor.parse().unwrap();
        // Since then, new definitions may have rules on quantities.
        let rules = chart.definitions.iter().any(|(file, _)| read(file).contains("quantity("));
        assert!(minor >= 29 || !rules, "{}: {wanted}", chart.folder);
    }
}
