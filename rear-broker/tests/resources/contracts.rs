//! The transport over Kubernetes keeps what every transport keeps, against a broker on a real API server.

use std::path::PathBuf;
use std::sync::Arc;

use rear_agent_sdk::communicator::{BrokerCommunicator, Role};
use rear_agent_sdk::testing::contract;
use rear_agent_sdk::{Error, Intent, KubernetesCommunicator, request};
use rear_testbed::ApiServer;
use tokio::runtime::{Builder, Handle};
use tokio::task::block_in_place;

use super::stage::{Stage, prepared, with_token};

/// Namespaces that are bound to the clusters of the contract, with the shipped role for agents.
struct Namespaces(Stage);

impl Namespaces {
    fn start() -> Self {
        let stage = Stage::bound(&[]);
        let mut objects = String::new();
        for number in 1..=contract::CLAUSES.len() {
            for name in ["lender", "borrower"] {
                objects += &of_cluster(&format!("{name}-{number}"));
            }
        }
        stage.kubectl().apply(&objects).unwrap();
        for number in 1..=contract::CLAUSES.len() {
            for name in ["lender", "borrower"] {
                stage.until_served(&format!("{name}-{number}"));
            }
        }
        Self(stage)
    }
}

/// What `deploy/broker/cluster` has, for one cluster.
pub(crate) fn of_cluster(cluster: &str) -> String {
    format!(
        "---
apiVersion: v1
kind: Namespace
metadata: {{name: {cluster}, labels: {{broker.fluidos.eu/cluster: {cluster}}}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: agent, namespace: {cluster}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: agent, namespace: {cluster}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rear-broker-cluster}}
subjects: [{{kind: ServiceAccount, name: agent}}]
"
    )
}

/// A kubeconfig of a cluster's agent.
fn kubeconfig(server: &ApiServer, cluster: &str) -> PathBuf {
    let path = server.folder().join(format!("{cluster}.kubeconfig"));
    let token = ["create", "token", "agent", "-n", cluster];
    let token = server.kubectl().run(&token).unwrap();
    std::fs::write(&path, with_token(server, token.trim())).unwrap();
    path
}

pub(crate) async fn connect(
    server: &ApiServer,
    namespace: &str,
    cluster: &str,
) -> KubernetesCommunicator {
    let path = kubeconfig(server, namespace);
    let id = cluster.parse().unwrap();
    KubernetesCommunicator::connect(Some(&path), namespace, id).await.unwrap()
}

impl contract::Stage for Namespaces {
    fn cluster(&self, name: &str) -> Arc<dyn BrokerCommunicator> {
        let connecting = connect(&self.0.server, name, name);
        Arc::new(block_in_place(|| Handle::current().block_on(connecting)))
    }
}

pub(crate) fn block_on<T>(doing: impl Future<Output = T>) -> T {
    Builder::new_multi_thread().enable_all().build().unwrap().block_on(doing)
}

#[test]
fn the_transport_over_kubernetes_keeps_the_whole_contract() {
    let stage = Namespaces::start();
    let checked = block_on(contract::check(&stage));
    assert_eq!(checked, Ok(vec![]));
    stage.0.end();
}

#[test]
fn in_the_shared_namespace_it_finds_what_concerns_the_cluster() {
    let stage = Stage::shared();
    stage.kubectl().apply(&of_access("default")).unwrap();
    stage.lend("default", "paris", "8", "32Gi");
    block_on(async {
        let rome = connect(&stage.server, "default", "rome").await;
        let paris = connect(&stage.server, "default", "paris").await;
        let made = rome.reserve(&request("2", "1Gi"), &Intent::new()).await.unwrap();
        assert_eq!(
            (made.requester_id.as_str(), made.target_cluster_id.as_str()),
            ("rome", "paris")
        );
        let kept = paris.instructions(Role::Provider, None).await.unwrap().instructions;
        assert_eq!(kept.len(), 1);
        assert!(kept[0].id.starts_with("rsv-"), "{}", kept[0].id);
        assert_eq!(paris.reservations(Role::Requester).await.unwrap(), []);
        let rejected = paris.reject(&kept[0].id, "the disks are full").await.unwrap();
        assert_eq!(rejected.status.phase.name(), "Failed");
        let told = rome.reservation(&made.id).await.unwrap();
        assert!(told.status.message.contains("the disks are full"));
    });
    stage.end();
}

/// The role of agents in a namespace that is there already.
fn of_access(namespace: &str) -> String {
    of_cluster(namespace).split("---\n").skip(2).collect::<Vec<_>>().join("---\n")
}

#[test]
fn where_no_broker_serves_resources_that_is_what_is_said() {
    let server = prepared();
    server.kubectl().apply(&of_cluster("rome")).unwrap();
    let unserved = block_on(async { connect(&server, "rome", "rome").await.ping().await });
    let Err(error @ Error::OtherTransport { .. }) = unserved else { panic!("{unserved:?}") };
    assert!(error.to_string().contains("--broker-interface=kubernetes"), "{error}");
    assert!(!error.is_transient());
    let stage = Stage::with(server, &[]);
    stage.until_served("rome");
    block_on(async {
        connect(&stage.server, "rome", "rome").await.ping().await.unwrap();
        let other = connect(&stage.server, "rome", "paris").await.ping().await;
        assert!(matches!(other, Err(Error::OtherCluster { .. })), "{other:?}");
    });
    stage.end();
}
