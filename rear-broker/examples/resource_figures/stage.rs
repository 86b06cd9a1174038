//! An API server, a broker on it, and a cluster that lends.

use std::process::{Child, Command, Stdio};

use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rear_api::resources::ClusterAdvertisement;
use rear_testbed::{ApiServer, eventually};
use serde_json::json;

use super::Outcome;

/// What is measured on. Everything ends with it.
pub(super) struct Stage {
    pub(super) client: Client,
    broker: Child,
    _data: tempfile::TempDir,
    server: ApiServer,
}

impl Stage {
    pub(super) async fn start() -> Outcome<Self> {
        let server = ApiServer::start()?;
        let kubectl = server.kubectl();
        kubectl.apply(&rear_api::resources::definitions_as_yaml()?)?;
        kubectl.run(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])?;
        for namespace in ["rome", "paris"] {
            kubectl.run(&["create", "namespace", namespace])?;
            let label = format!("broker.fluidos.eu/cluster={namespace}");
            kubectl.run(&["label", "namespace", namespace, &label])?;
        }
        let data = tempfile::tempdir()?;
        let program = std::env::current_exe()?;
        let folder = program.parent().and_then(|folder| folder.parent()).ok_or("no folder")?;
        let program = folder.join("rear-broker");
        let folder = data.path().join("data");
        let made = Command::new(&program).arg("init").arg("--data").arg(&folder).output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into());
        }
        let broker = Command::new(&program)
            .args(["serve", "--broker-interface=kubernetes", "--shared-namespace=default"])
            .args(["--http-port=0", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .args(["--operations-bind-address=0", "--log-level=error"])
            .arg("--data")
            .arg(&folder)
            .arg("--kubeconfig")
            .arg(server.admin().kubeconfig())
            .stdin(Stdio::null())
            .spawn()?;
        let kubeconfig = Kubeconfig::read_from(server.admin().kubeconfig())?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let client = Client::try_from(config)?;
        let stage = Self { client, broker, _data: data, server };
        stage.lend().await?;
        Ok(stage)
    }

    /// Paris lends more than is asked for.
    async fn lend(&self) -> Outcome<()> {
        let api = Api::<ClusterAdvertisement>::namespaced(self.client.clone(), "paris");
        let spec = json!({
            "clusterID": "paris",
            "resources": { "capacity": { "cpu": "100000", "memory": "100000Gi" } },
        });
        let object = ClusterAdvertisement::new("paris-adv", serde_json::from_value(spec)?);
        api.create(&PostParams::default(), &object).await?;
        let kubectl = self.server.kubectl();
        let active = ["get", "cadv", "paris-adv", "-n", "paris", "-o=jsonpath={.status.active}"];
        eventually(|| (kubectl.run(&active).ok()? == "true").then_some(()))
            .ok_or("it does not serve")?;
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.broker.kill());
        drop(self.broker.wait());
    }
}
