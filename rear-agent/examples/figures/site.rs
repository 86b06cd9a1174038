//! A cluster of one API server with the agent's resources, and many nodes and pods in it.

use std::fs;
use std::path::{Path, PathBuf};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rear_testbed::{ApiServer, eventually};
use serde_json::json;

use super::{NAMESPACE, Outcome};

/// Objects that are created at once.
const AT_ONCE: usize = 32;

/// A cluster.
pub(super) struct Site {
    server: ApiServer,
    /// With a token of the shipped role.
    pub(super) kubeconfig: PathBuf,
}

impl Site {
    pub(super) fn start() -> Outcome<Self> {
        let server = ApiServer::start()?;
        let kubectl = server.kubectl();
        let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/agent");
        let manifests = manifests.to_str().ok_or("the folder has an odd name")?;
        // Definitions take a moment before their kinds can be used.
        eventually(|| kubectl.run(&["apply", "--server-side", "-k", manifests]).ok())
            .ok_or("the manifests do not apply")?;
        kubectl.run(&["wait", "--for=condition=Established", "crd", "--all"])?;
        let token = kubectl.run(&["create", "token", "rear-agent", "-n", NAMESPACE])?;
        let kubeconfig = server.folder().join("agent.kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
            "clusters": [{ "name": "a", "cluster": {
                "server": server.url(), "certificate-authority": server.authority() } }],
            "users": [{ "name": "a", "user": { "token": token.trim() } }],
        });
        fs::write(&kubeconfig, text.to_string())?;
        Ok(Self { server, kubeconfig })
    }

    /// As the administrator.
    pub(super) async fn client(&self) -> Outcome<Client> {
        let kubeconfig = Kubeconfig::read_from(self.server.admin().kubeconfig())?;
        let options = KubeConfigOptions::default();
        Ok(Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await?)?)
    }
}

/// Makes nodes, and pods on them.
pub(super) async fn fill(client: Client, nodes: usize, pods: usize) -> Outcome<()> {
    let api = Api::<Node>::all(client.clone());
    for index in 0..nodes {
        let has = json!({ "cpu": "32", "memory": "128Gi", "pods": "110" });
        let node = json!({
            "metadata": { "name": format!("n{index}") },
            "status": { "capacity": has, "allocatable": has,
                "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        api.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
    }
    let api = Api::<Pod>::namespaced(client, "default");
    let create = |index: usize| {
        let api = api.clone();
        async move {
            let pod = json!({
                "metadata": { "name": format!("p{index}"), "labels": { "app": "filler" } },
                "spec": { "nodeName": format!("n{}", index % nodes), "containers": [{
                    "name": "a", "image": "a",
                    "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } } }] },
            });
            api.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
            Ok(())
        }
    };
    futures::stream::iter(0..pods).map(create).buffer_unordered(AT_ONCE).try_collect().await
}
