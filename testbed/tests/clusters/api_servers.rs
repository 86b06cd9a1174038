//! API servers with their etcd, and nothing else.

use rear_testbed::{ApiServer, KubectlError, ProcessError};

/// A kind of our own, with a part that only its status endpoint changes.
const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.testbed.example
spec:
  group: testbed.example
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget }
  versions:
  - name: v1
    served: true
    storage: true
    subresources: { status: {} }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: { type: object, properties: { size: { type: integer } } }
          status: { type: object, properties: { phase: { type: string } } }
";

const WIDGET: &str = "
apiVersion: testbed.example/v1
kind: Widget
metadata: { name: one }
spec: { size: 3 }
status: { phase: Ignored }
";

const READER_OF_CONFIG_MAPS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: default }
rules: [{ apiGroups: [''], resources: [configmaps], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: rome }]
";

fn config_maps(server: &ApiServer) -> String {
    let listed = server.kubectl().run(&["get", "configmaps", "--output=name"]);
    listed.unwrap().replace("configmap/", "").replace('\n', " ").trim().to_owned()
}

fn refusal(result: Result<String, KubectlError>) -> String {
    match result {
        Err(KubectlError::Refused { message, .. }) => message,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn three_clusters_at_once_have_objects_of_their_own() {
    let names = ["oslo", "paris", "rome"];
    let servers = names.map(|name| (name, ApiServer::start().unwrap()));
    for (name, server) in &servers {
        server.kubectl().run(&["create", "configmap", name]).unwrap();
    }
    for (name, server) in &servers {
        assert_eq!(config_maps(server), *name);
    }
}

#[test]
fn a_user_of_one_cluster_is_nobody_on_another() {
    let [here, there] = [(); 2].map(|()| ApiServer::start().unwrap());
    let kubeconfig = std::fs::read_to_string(here.admin().kubeconfig()).unwrap();
    let crossed = here.folder().join("crossed.kubeconfig");
    let authority = |server: &ApiServer| server.authority().display().to_string();
    let text = kubeconfig
        .replace(&here.url(), &there.url())
        .replace(&authority(&here), &authority(&there));
    std::fs::write(&crossed, text).unwrap();
    let option = format!("--kubeconfig={}", crossed.display());
    let message = refusal(here.kubectl().run(&["get", "configmaps", &option]));
    assert!(message.contains("Unauthorized") || message.contains("must be logged in"), "{message}");
}

#[test]
fn a_custom_resource_has_a_status_and_is_watched() {
    let server = ApiServer::start().unwrap();
    let kubectl = server.kubectl();
    kubectl.apply(WIDGETS).unwrap();
    let established = "--for=condition=Established";
    kubectl
        .run(&["wait", established, "customresourcedefinition/widgets.testbed.example"])
        .unwrap();

    let columns = "--output=custom-columns=SIZE:.spec.size,PHASE:.status.phase";
    // A watch that tells nothing ends some day, and with it the test.
    let watch = ["get", "widgets", "--watch", "--no-headers", "--request-timeout=120s", columns];
    let mut watch = kubectl.follow(&watch).unwrap();
    let mut next = || watch.next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");

    kubectl.run_with_input(&["create", "--filename", "-"], WIDGET).unwrap();
    assert_eq!(next(), "3 <none>", "the status of a new object is for its controller to write");
    let ready = r#"--patch={"status":{"phase":"Ready"},"spec":{"size":4}}"#;
    let patch = ["patch", "widget", "one", "--type=merge", "--subresource=status", ready];
    kubectl.run(&patch).unwrap();
    assert_eq!(next(), "3 Ready", "the status endpoint changes nothing else");
}

#[test]
fn a_user_may_do_what_rbac_allows_and_nothing_else() {
    let server = ApiServer::start().unwrap();
    let rome = server.kubectl_as(&server.user("rome").unwrap());
    let message = refusal(rome.run(&["get", "configmaps"]));
    assert!(message.contains(r#"User "rome" cannot list resource "configmaps""#), "{message}");

    server.kubectl().apply(READER_OF_CONFIG_MAPS).unwrap();
    server.kubectl().run(&["create", "configmap", "to-be-read"]).unwrap();
    assert!(rome.run(&["get", "configmaps", "--output=name"]).unwrap().contains("to-be-read"));
    let message = refusal(rome.run(&["create", "configmap", "of-rome"]));
    assert!(message.contains(r#"User "rome" cannot create resource "configmaps""#), "{message}");
}

#[test]
fn an_api_server_that_was_killed_comes_back_with_its_data() {
    let mut server = ApiServer::start().unwrap();
    let (url, kubectl) = (server.url(), server.kubectl());
    kubectl.run(&["create", "configmap", "kept"]).unwrap();

    server.process().kill().unwrap();
    let message = refusal(kubectl.run(&["get", "configmaps"]));
    assert!(message.contains("refused"), "nobody listens: {message}");
    server.etcd().kill().unwrap();

    server.etcd().start().unwrap();
    server.process().start().unwrap();
    server.await_ready().unwrap();
    assert_eq!(config_maps(&server), "kept");
    assert_eq!(server.url(), url);
}

#[test]
fn a_stopped_api_server_does_not_answer_until_it_continues() {
    let mut server = ApiServer::start().unwrap();
    let kubectl = server.kubectl();
    server.process().pause().unwrap();
    let message = refusal(kubectl.run(&["get", "--raw", "/readyz", "--request-timeout=1s"]));
    assert!(!message.contains("refused"), "it listens still: {message}");
    server.process().resume().unwrap();
    server.await_ready().unwrap();
}

#[test]
fn signals_to_what_does_not_run_are_errors() {
    let mut server = ApiServer::start().unwrap();
    let process = server.process();
    assert!(matches!(process.start(), Err(ProcessError::Running { .. })));
    process.kill().unwrap();
    assert!(matches!(process.kill(), Err(ProcessError::NotRunning { .. })));
    assert!(matches!(process.pause(), Err(ProcessError::NotRunning { .. })));
    assert_eq!(process.id(), None);
}
