//! A cluster with the agent's resources and role installed, and kubectl to use it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rear_testbed::{ApiServer, Kubectl, eventually};

/// Long enough for any test.
const TOKEN_LIFE: &str = "--duration=6h";

/// A cluster of one API server.
pub(crate) struct Site {
    pub(crate) server: ApiServer,
    /// With a token of the shipped role.
    pub(crate) kubeconfig: PathBuf,
}

impl Site {
    /// With everything that `deploy/agent` has.
    pub(crate) fn start() -> Self {
        let server = ApiServer::start().unwrap();
        let kubectl = server.kubectl();
        let folder = deploy("agent");
        eventually(|| {
            // Definitions take a moment before their kinds can be used.
            kubectl.run(&["apply", "--server-side", "-k", folder.to_str().unwrap()]).ok()
        })
        .expect("the manifests apply");
        let all = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
        kubectl.run(&all).unwrap();
        let account = ["create", "token", "rear-agent", "-n", "rear-agent", TOKEN_LIFE];
        let token = kubectl.run(&account).unwrap();
        let kubeconfig = server.folder().join("agent.kubeconfig");
        fs::write(&kubeconfig, with_token(&server, token.trim())).unwrap();
        Self { server, kubeconfig }
    }

    /// With nodes of so many cores and so much memory.
    pub(crate) fn with_nodes(nodes: &[(&str, &str, &str)]) -> Self {
        let site = Self::start();
        for (name, cpu, memory) in nodes {
            site.add_node(name, cpu, memory);
        }
        site
    }

    pub(crate) fn kubectl(&self) -> Kubectl {
        self.server.kubectl()
    }

    /// What kubectl prints.
    pub(crate) fn ask(&self, arguments: &[&str]) -> String {
        self.kubectl().run(arguments).unwrap()
    }

    /// A field of an object in the agent's namespace; nothing while it is not there.
    pub(crate) fn field(&self, object: &str, path: &str) -> Option<String> {
        self.field_in("rear-agent", object, path)
    }

    pub(crate) fn field_in(&self, namespace: &str, object: &str, path: &str) -> Option<String> {
        let output = format!("-o=jsonpath={{{path}}}");
        let text = self.kubectl().run(&["get", object, "-n", namespace, &output]).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Waits until a field is so.
    pub(crate) fn until(&self, object: &str, path: &str, expected: &str) {
        self.until_in("rear-agent", object, path, expected);
    }

    pub(crate) fn until_in(&self, namespace: &str, object: &str, path: &str, expected: &str) {
        let mut last = None;
        let is_so = eventually(|| {
            last = self.field_in(namespace, object, path);
            (last.as_deref() == Some(expected)).then_some(())
        });
        assert!(is_so.is_some(), "{object} {path} should be {expected} and is {last:?}");
    }

    /// Waits until an object of the agent's namespace is gone.
    pub(crate) fn until_gone(&self, object: &str) {
        let gone = ["wait", "--for=delete", object, "-n", "rear-agent", "--timeout=120s"];
        self.ask(&gone);
    }

    /// Waits until there are so many of a kind, and names them.
    pub(crate) fn until_number(&self, kind: &str, number: usize) -> Vec<String> {
        let mut last = String::new();
        let names = eventually(|| {
            last = self.ask(&["get", kind, "-n", "rear-agent", "-o=name"]);
            let names: Vec<_> = last.lines().map(str::to_owned).collect();
            (names.len() == number).then_some(names)
        });
        names.unwrap_or_else(|| panic!("there should be {number} of {kind}:\n{last}"))
    }

    /// Waits until there are events about kinds of objects, for these reasons.
    pub(crate) fn until_told(&self, namespace: &str, expected: &[(&str, &str)]) {
        let each = "{range .items[*]}{.regarding.kind} {.reason}{\"\\n\"}{end}";
        let output = format!("-o=jsonpath={each}");
        let mut last = String::new();
        let all = eventually(|| {
            last = self.ask(&["get", "events.events.k8s.io", "-n", namespace, &output]);
            let is_told = |(kind, reason): &(&str, &str)| {
                last.lines().any(|line| line == format!("{kind} {reason}"))
            };
            expected.iter().all(is_told).then_some(())
        });
        assert!(all.is_some(), "{expected:?} should be told of, and there is:\n{last}");
    }

    pub(crate) fn add_node(&self, name: &str, cpu: &str, memory: &str) {
        self.apply(&node(name, cpu, memory, "True", ""));
    }

    pub(crate) fn apply(&self, objects: &str) {
        let created = self.kubectl().run_with_input(&["create", "-f", "-"], objects);
        created.unwrap();
    }

    /// Applies a request of a user in the namespace `default`.
    pub(crate) fn request(&self, name: &str, spec: &str) {
        self.kubectl().apply(&resource_request(name, spec)).unwrap();
    }

    /// Puts a request in the place of another, with nothing of what others wrote on it but the status.
    pub(crate) fn replace_request(&self, name: &str, spec: &str) {
        let request = resource_request(name, spec);
        self.kubectl().run_with_input(&["replace", "-f", "-"], &request).unwrap();
    }

    /// Waits for the phase of a request.
    pub(crate) fn until_phase(&self, request: &str, phase: &str) {
        self.until_in("default", &format!("resourcerequest/{request}"), ".status.phase", phase);
    }

    /// A field of a request's status.
    pub(crate) fn told(&self, request: &str, field: &str) -> String {
        let object = format!("resourcerequest/{request}");
        let path = format!(".status.{field}");
        self.field_in("default", &object, &path)
            .unwrap_or_else(|| panic!("{request} has no {field}"))
    }
}

fn resource_request(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: rear.fluidos.eu/v1alpha1\nkind: ResourceRequest\n\
         metadata: {{name: {name}, namespace: default}}\nspec: {{{spec}}}\n"
    )
}

/// A folder of the manifests.
pub(crate) fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(folder)
}

pub(crate) fn node(name: &str, cpu: &str, memory: &str, ready: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{{labels}}}}}
status:
  capacity: {{cpu: '{cpu}', memory: {memory}, pods: '110'}}
  allocatable: {{cpu: '{cpu}', memory: {memory}, pods: '110'}}
  conditions: [{{type: Ready, status: '{ready}'}}]
"
    )
}

/// Pods on a node, each with so much.
pub(crate) fn pods(names: &[String], node: &str, cpu: &str, memory: &str, labels: &str) -> String {
    let mut all = String::new();
    for name in names {
        write!(
            all,
            "---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default, labels: {{{labels}}}}}
spec:
  nodeName: {node}
  terminationGracePeriodSeconds: 0
  containers: [{{name: a, image: a, resources: {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}]
"
        )
        .unwrap();
    }
    all
}

pub(crate) fn with_token(server: &ApiServer, token: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
clusters: [{{name: a, cluster: {{server: {:?}, certificate-authority: {:?}}}}}]
users: [{{name: a, user: {{token: {token:?}}}}}]
",
        server.url(),
        server.authority().display().to_string(),
    )
}
