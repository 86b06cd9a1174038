//! A broker cluster of one API server, with what `deploy/broker` has, and a broker with the shipped role on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use rear_testbed::{ApiServer, Kubectl, eventually};

use super::process::Broker;

/// Long enough for any test.
const TOKEN_LIFE: &str = "--duration=6h";

/// The API server and the broker, or brokers.
pub(crate) struct Stage<B = Broker> {
    // Before the server, so that it ends first.
    pub(crate) broker: B,
    pub(crate) server: ApiServer,
}

impl Stage {
    /// With the shared namespace of the earlier system.
    pub(crate) fn shared() -> Self {
        Self::with(prepared(), &["--shared-namespace=default"])
    }

    /// With a namespace for each of these clusters, of the same name.
    pub(crate) fn bound(clusters: &[&str]) -> Self {
        let stage = Self::with(prepared(), &[]);
        for cluster in clusters {
            stage.bind(cluster, cluster);
        }
        stage
    }

    /// With these flags.
    pub(crate) fn with(server: ApiServer, flags: &[&str]) -> Self {
        let broker = Broker::start_with(&arguments(&server, flags));
        Self { broker, server }
    }

    /// Stops the broker, and has its ledger looked at: the audit is clean, and the ledger is the sum of its reservations.
    pub(crate) fn end(mut self) {
        self.broker.stop();
        verify(&self.broker.ledger());
    }
}

impl<B> Stage<B> {
    pub(crate) fn bind(&self, namespace: &str, cluster: &str) {
        let object = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {{broker.fluidos.eu/cluster: {cluster}}}}}"
        );
        self.kubectl().apply(&object).unwrap();
        self.until_served(namespace);
    }

    /// Waits until the broker serves a namespace.
    pub(crate) fn until_served(&self, namespace: &str) {
        let served = || self.field(namespace, "lease/rear-broker", ".spec.renewTime");
        eventually(served).unwrap_or_else(|| panic!("{namespace} is not served"));
    }

    pub(crate) fn kubectl(&self) -> Kubectl {
        self.server.kubectl()
    }

    /// What kubectl prints.
    pub(crate) fn ask(&self, arguments: &[&str]) -> String {
        self.kubectl().run(arguments).unwrap()
    }

    /// As a user of the earlier system would: client-side.
    pub(crate) fn apply(&self, namespace: &str, objects: &str) {
        self.kubectl().run_with_input(&["apply", "-n", namespace, "-f", "-"], objects).unwrap();
    }

    /// Applies an advertisement of so much, by hand.
    pub(crate) fn lend(&self, namespace: &str, cluster: &str, cpu: &str, memory: &str) {
        self.apply(namespace, &advertisement(cluster, cpu, memory));
        let object = format!("clusteradvertisement/{cluster}-adv");
        self.until(namespace, &object, ".status.active", "true");
    }

    /// Applies a reservation.
    pub(crate) fn wish(&self, namespace: &str, name: &str, spec: &str) {
        self.apply(namespace, &reservation(name, spec));
    }

    /// A field of an object; nothing while it is not there.
    pub(crate) fn field(&self, namespace: &str, object: &str, path: &str) -> Option<String> {
        let output = format!("-o=jsonpath={{{path}}}");
        let text = self.kubectl().run(&["get", object, "-n", namespace, &output]).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Waits until a field is so.
    pub(crate) fn until(&self, namespace: &str, object: &str, path: &str, expected: &str) {
        let mut last = None;
        let is_so = eventually(|| {
            last = self.field(namespace, object, path);
            (last.as_deref() == Some(expected)).then_some(())
        });
        assert!(is_so.is_some(), "{object} {path} should be {expected} and is {last:?}");
    }

    pub(crate) fn until_phase(&self, namespace: &str, reservation: &str, phase: &str) {
        self.until(namespace, &format!("reservation/{reservation}"), ".status.phase", phase);
    }

    /// A field of a reservation's status.
    pub(crate) fn told(&self, namespace: &str, reservation: &str, field: &str) -> String {
        let object = format!("reservation/{reservation}");
        let found = self.field(namespace, &object, &format!(".status.{field}"));
        found.unwrap_or_else(|| panic!("{reservation} has no {field}"))
    }

    /// Waits until a cluster has so many cores left, by the object in a namespace.
    pub(crate) fn until_left(&self, namespace: &str, cluster: &str, cpu: &str) {
        let object = format!("clusteradvertisement/{cluster}-adv");
        self.until(namespace, &object, ".spec.resources.available.cpu", cpu);
    }

    /// Waits until an object is gone.
    pub(crate) fn until_gone(&self, namespace: &str, object: &str) {
        self.ask(&["wait", "--for=delete", object, "-n", namespace, "--timeout=120s"]);
    }

    /// Sets a condition in a reservation's status, as one of its sides does.
    pub(crate) fn say(&self, namespace: &str, reservation: &str, condition: &str, message: &str) {
        let patch = format!(
            r#"[{{"op":"add","path":"/status/conditions/-","value":{{"type":"{condition}","status":"True","reason":"Said","message":"{message}","lastTransitionTime":"2026-01-02T15:04:05Z"}}}}]"#
        );
        let object = format!("reservation/{reservation}");
        self.ask(&[
            "patch",
            &object,
            "-n",
            namespace,
            "--subresource=status",
            "--type=json",
            "-p",
            &patch,
        ]);
    }
}

/// The audit of a ledger that is not in use.
pub(crate) fn verify(ledger: &Path) {
    let mut verify = Command::new(env!("CARGO_BIN_EXE_rear-broker"));
    let output = verify.arg("verify").arg("--data").arg(ledger.parent().unwrap()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// An API server with everything but the broker.
pub(crate) fn prepared() -> ApiServer {
    let server = ApiServer::start().unwrap();
    let kubectl = server.kubectl();
    let folder = deploy("broker");
    // None of them is of a kind that another one defines.
    kubectl.run(&["apply", "--server-side", "-k", folder.to_str().unwrap()]).unwrap();
    let all = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    kubectl.run(&all).unwrap();
    server
}

/// The flags of a broker with the shipped role.
pub(crate) fn arguments<'a>(server: &ApiServer, flags: &[&'a str]) -> Vec<&'a str> {
    let kubeconfig = server.folder().join("broker.kubeconfig");
    if !kubeconfig.exists() {
        let account = ["create", "token", "rear-broker", "-n", "rear-broker", TOKEN_LIFE];
        let token = server.kubectl().run(&account).unwrap();
        fs::write(&kubeconfig, with_token(server, token.trim())).unwrap();
    }
    let own = format!("--kubeconfig={}", kubeconfig.display());
    let interface = flags.iter().any(|flag| flag.starts_with("--broker-interface"));
    let interface = (!interface).then_some("--broker-interface=http,kubernetes");
    // A test has few of them.
    [Box::leak(own.into_boxed_str()) as &str]
        .into_iter()
        .chain(interface)
        .chain(flags.iter().copied())
        .collect()
}

/// A folder of the manifests.
pub(crate) fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(folder)
}

pub(crate) fn advertisement(cluster: impl fmt::Display, cpu: &str, memory: &str) -> String {
    format!(
        "apiVersion: broker.fluidos.eu/v1alpha1\nkind: ClusterAdvertisement\n\
         metadata: {{name: {cluster}-adv}}\n\
         spec: {{clusterID: {cluster}, resources: {{capacity: {{cpu: '{cpu}', memory: {memory}}}}}}}\n"
    )
}

pub(crate) fn reservation(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: broker.fluidos.eu/v1alpha1\nkind: Reservation\n\
         metadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

/// So many cores, with a little memory.
pub(crate) fn cores(number: &str) -> String {
    format!("requestedResources: {{cpu: '{number}', memory: 1Gi}}")
}

pub(crate) fn with_token(server: &ApiServer, token: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a, namespace: rear-broker}}}}]
clusters: [{{name: a, cluster: {{server: {:?}, certificate-authority: {:?}}}}}]
users: [{{name: a, user: {{token: {token:?}}}}}]
",
        server.url(),
        server.authority().display().to_string(),
    )
}
