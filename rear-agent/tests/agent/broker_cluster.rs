//! The same agent, whose broker it reaches through custom resources on the broker's cluster.

use std::fs;
use std::path::PathBuf;

use rear_testbed::{ApiServer, eventually};

use super::agent::Start;
use super::peering::{ACTIVE, Liqoctl};
use super::process::Broker;
use super::requests::{OBJECT, provider, requester};
use super::site::{Site, deploy, with_token};

/// The broker's own cluster, with a namespace for each of two clusters.
struct BrokerCluster {
    // Before the server, so that it ends first.
    _broker: Broker,
    server: ApiServer,
}

impl BrokerCluster {
    fn start(clusters: &[&str]) -> Self {
        let server = ApiServer::start().unwrap();
        let kubectl = server.kubectl();
        let folder = deploy("broker");
        kubectl.run(&["apply", "--server-side", "-k", folder.to_str().unwrap()]).unwrap();
        let all = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
        kubectl.run(&all).unwrap();
        let kubeconfig = token(&server, "rear-broker", "rear-broker");
        let broker = Broker::start_with(&[
            "--broker-interface=kubernetes",
            &format!("--kubeconfig={}", kubeconfig.display()),
        ]);
        for cluster in clusters {
            kubectl.apply(&of_cluster(cluster)).unwrap();
            let lease = ["get", "lease", "rear-broker", "-n", cluster];
            eventually(|| kubectl.run(&lease).ok()).expect("the namespace is served");
        }
        Self { _broker: broker, server }
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        self.server.kubectl().run(arguments).unwrap()
    }

    /// A user asks for so many cores.
    fn wish(&self, namespace: &str, name: &str, cpu: &str) {
        self.ask(namespace, name, &amounts(cpu));
    }

    /// A user asks for so many cores of a cluster.
    fn wish_of(&self, namespace: &str, name: &str, cpu: &str, target: &str) {
        self.ask(namespace, name, &format!("{}, targetClusterID: {target}", amounts(cpu)));
    }

    fn ask(&self, namespace: &str, name: &str, spec: &str) {
        let wish = format!(
            "apiVersion: broker.fluidos.eu/v1alpha1\nkind: Reservation\n\
             metadata: {{name: {name}, namespace: {namespace}}}\nspec: {{{spec}}}\n"
        );
        self.server.kubectl().apply(&wish).unwrap();
    }

    /// The id that a user's reservation has, once it has one.
    fn id_of(&self, namespace: &str, name: &str) -> String {
        let id = "-o=jsonpath={.status.reservationID}";
        let ask = || self.kubectl(&["get", "reservation", name, "-n", namespace, id]);
        eventually(|| Some(ask()).filter(|id| !id.is_empty())).expect("it is reserved")
    }

    /// The flags of a cluster's agent.
    fn agent<'a>(&self, site: &'a Site, cluster: &str) -> Start<'a> {
        let kubeconfig = token(&self.server, cluster, "agent");
        Start::alone(site)
            .flag(&format!("--broker-kubeconfig={}", kubeconfig.display()))
            .flag(&format!("--broker-namespace={cluster}"))
            .flag(&format!("--cluster-id={cluster}"))
    }
}

fn amounts(cpu: &str) -> String {
    format!("requestedResources: {{cpu: '{cpu}', memory: 1Gi}}")
}

/// A kubeconfig with the token of an account.
fn token(server: &ApiServer, namespace: &str, account: &str) -> PathBuf {
    let create = ["create", "token", account, "-n", namespace, "--duration=6h"];
    let token = server.kubectl().run(&create).unwrap();
    let path = server.folder().join(format!("{namespace}-{account}.kubeconfig"));
    fs::write(&path, with_token(server, token.trim())).unwrap();
    path
}

/// What `deploy/broker/cluster` has, for one cluster.
fn of_cluster(cluster: &str) -> String {
    let folder = deploy("broker/cluster");
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let namespace = read("namespace.yaml").replace("rear-cluster-1", cluster);
    let access = read("access.yaml");
    let access = access
        .replace("  name: agent\n---", &format!("  name: agent\n  namespace: {cluster}\n---"));
    let access = access.replace(
        "  name: agent\nroleRef",
        &format!("  name: agent\n  namespace: {cluster}\nroleRef"),
    );
    format!("{}\n---\n{access}", namespace.replace("cluster-1", cluster))
}

#[test]
fn a_request_is_reserved_through_resources_as_it_is_over_http() {
    let (rome, paris) = (Site::start(), Site::with_nodes(&[("a", "16", "64Gi")]));
    let cluster = BrokerCluster::start(&["rome", "paris"]);
    let _of_rome = cluster.agent(&rome, "rome").flag("--broker-transport=kubernetes").run();
    // The kubeconfig alone says so too.
    let _of_paris = cluster.agent(&paris, "paris").run();
    paris.until(OBJECT, ".status.published", "true");
    rome.until(OBJECT, ".status.phase", "Active");
    rome.request("a", "requestedCPU: '2', requestedMemory: 4Gi, duration: 1h");
    rome.until_phase("a", "Reserved");
    assert_eq!(rome.told("a", "targetClusterID"), "paris");
    let id = rome.told("a", "reservationName");
    rome.until(&requester(&id), ".status.delivered", "true");
    paris.until(&provider(&id), ".spec.message", "Hold 2 CPU / 4Gi Memory for requester rome");
    paris.until(OBJECT, ".spec.resources.available.cpu", "14");
    rome.ask(&["delete", "rr", "a"]);
    paris.until_gone(&provider(&id));
    rome.until_gone(&requester(&id));
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
}

#[test]
fn instructions_have_the_name_that_a_user_gave_a_reservation_on_the_brokers_cluster() {
    let (rome, paris) = (Site::start(), Site::with_nodes(&[("a", "16", "64Gi")]));
    let cluster = BrokerCluster::start(&["rome", "paris", "oslo"]);
    let _of_rome = cluster.agent(&rome, "rome").run();
    let _of_paris = cluster.agent(&paris, "paris").run();
    paris.until(OBJECT, ".status.published", "true");
    cluster.wish("rome", "database", "4");
    rome.until(&requester("database"), ".spec.message", "Use paris for 4 CPU / 1Gi Memory");
    let of_rome = cluster.id_of("rome", "database");
    paris.until(&provider("database"), ".spec.reservationName", "database");
    paris.until(&provider("database"), ".spec.reservationID", &of_rome);
    paris.until(OBJECT, ".spec.resources.available.cpu", "12");
    // Somebody else has chosen the same name.
    cluster.wish("oslo", "database", "3");
    let of_oslo = cluster.id_of("oslo", "database");
    let apart = provider(&format!("database-{}", &of_oslo["rsv-".len()..][..8]));
    paris.until(&apart, ".spec.requesterClusterID", "oslo");
    paris.until(OBJECT, ".spec.resources.available.cpu", "9");
    cluster.kubectl(&["delete", "reservation", "database", "-n", "rome"]);
    rome.until_gone(&requester("database"));
    paris.until_gone(&provider("database"));
    paris.until(&apart, ".status.enforced", "true");
    cluster.kubectl(&["delete", "reservation", "database", "-n", "oslo"]);
    paris.until_gone(&apart);
    paris.until(OBJECT, ".spec.resources.available.cpu", "16");
}

#[test]
fn a_name_that_comes_again_for_another_cluster_undoes_the_peering_with_the_first() {
    let rome = Site::start();
    let others = [(); 2].map(|()| Site::with_nodes(&[("a", "16", "64Gi")]));
    let cluster = BrokerCluster::start(&["rome", "paris", "oslo"]);
    let _of_paris = cluster.agent(&others[0], "paris").run();
    let _of_oslo = cluster.agent(&others[1], "oslo").run();
    for site in &others {
        site.until(OBJECT, ".status.published", "true");
    }
    let liqoctl = Liqoctl::new(rome.server.folder());
    let agent = || liqoctl.peering(cluster.agent(&rome, "rome")).run();
    let of_rome = agent();
    cluster.wish_of("rome", "database", "4", "paris");
    rome.until(&requester("database"), ACTIVE, "True");
    let first = rome.field(&requester("database"), ".metadata.uid").unwrap();
    // Nobody sees what is in between.
    of_rome.kill();
    cluster.kubectl(&["delete", "reservation", "database", "-n", "rome"]);
    cluster.wish_of("rome", "database", "3", "oslo");
    cluster.id_of("rome", "database");
    let _of_rome = agent();
    rome.until(&requester("database"), ".spec.targetClusterID", "oslo");
    rome.until(&requester("database"), ACTIVE, "True");
    assert_ne!(rome.field(&requester("database"), ".metadata.uid").unwrap(), first);
    let peer = "peer --gw-server-service-type NodePort";
    assert_eq!(
        liqoctl.calls(),
        [
            format!("{peer} --cpu 4 --memory 1Gi"),
            "unpeer".to_owned(),
            format!("{peer} --cpu 3 --memory 1Gi"),
        ]
    );
}

#[test]
fn an_agent_whose_broker_is_reached_another_way_says_so() {
    let site = Site::start();
    // Its own cluster has no broker at all.
    let start = Start::alone(&site)
        .flag(&format!("--broker-kubeconfig={}", site.server.admin().kubeconfig().display()))
        .flag("--cluster-id=rome");
    let output = start.command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("not reached this way"), "{said}");
    assert!(said.contains("--broker-interface=kubernetes"), "{said}");
}
