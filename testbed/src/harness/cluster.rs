//! A whole cluster: the pods of a Deployment are made, scheduled and said to run.

use std::path::Path;

use super::api_server::{ApiServer, ServiceAccounts};
use super::node::Node;
use super::process::Process;
use super::readiness::await_ready;
use super::start_error::StartError;
use crate::artifacts::Artifact;

/// An API server with the scheduler, the controller manager, and kwok in the place of every kubelet. It has
/// no nodes at first. Dropping it removes it and its data.
pub struct Cluster {
    scheduler: Process,
    controller_manager: Process,
    kwok: Process,
    /// Last, as it has the folder of all.
    api_server: ApiServer,
}

impl Cluster {
    /// Starts one and waits until the API server is ready and the controller manager has begun its work.
    pub fn start() -> Result<Self, StartError> {
        let api_server = ApiServer::start_with(ServiceAccounts::Required)?;
        let mut cluster = Self {
            scheduler: start_scheduler(&api_server)?,
            controller_manager: start_controller_manager(&api_server)?,
            kwok: start_kwok(&api_server)?,
            api_server,
        };
        cluster.await_first_service_account()?;
        Ok(cluster)
    }

    /// Without it no pod can be created in the namespace `default`.
    fn await_first_service_account(&mut self) -> Result<(), StartError> {
        let kubectl = self.api_server.kubectl();
        await_ready(&mut self.controller_manager, || {
            let asked = kubectl.run(&["get", "serviceaccount", "default"]);
            asked.map(drop).map_err(|error| error.to_string())
        })
    }

    /// Adds nodes and waits until the scheduler may use each.
    pub fn add_nodes(&mut self, nodes: &[Node]) -> Result<(), StartError> {
        let kubectl = self.api_server.kubectl();
        let manifests: Vec<_> = nodes.iter().map(Node::manifest).collect();
        kubectl.run_with_input(&["create", "--filename", "-"], &manifests.join("---\n"))?;
        let names: Vec<_> = nodes.iter().map(Node::name).collect();
        // A node has a taint until it is ready.
        let taints = "--output=jsonpath={..spec.taints}";
        await_ready(&mut self.kwok, || {
            let left = kubectl.run(&[&["get", "nodes", taints], names.as_slice()].concat());
            match left {
                Ok(taints) if taints.is_empty() => Ok(()),
                Ok(taints) => Err(taints),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    /// The API server, with its users and kubectl.
    #[must_use]
    pub fn api_server(&self) -> &ApiServer {
        &self.api_server
    }

    /// The API server, to kill, pause or start it.
    pub fn api_server_mut(&mut self) -> &mut ApiServer {
        &mut self.api_server
    }

    /// The scheduler, to kill, pause or start it.
    pub fn scheduler(&mut self) -> &mut Process {
        &mut self.scheduler
    }

    /// The controller manager, to kill, pause or start it.
    pub fn controller_manager(&mut self) -> &mut Process {
        &mut self.controller_manager
    }

    /// kwok, which plays the kubelets, to kill, pause or start it.
    pub fn kwok(&mut self) -> &mut Process {
        &mut self.kwok
    }
}

/// None of the parts serves anything, which saves ports; and each is alone, so that there is nobody to
/// elect a leader with.
const ALONE_AND_SILENT: [&str; 2] = ["--secure-port=0", "--leader-elect=false"];

fn start_scheduler(api_server: &ApiServer) -> Result<Process, StartError> {
    let user = api_server.user("system:kube-scheduler")?;
    let mut arguments = ALONE_AND_SILENT.map(str::to_owned).to_vec();
    arguments.push(option("kubeconfig", user.kubeconfig()));
    api_server.site().start(Artifact::KubeScheduler, "kube-scheduler", arguments)
}

fn start_controller_manager(api_server: &ApiServer) -> Result<Process, StartError> {
    let user = api_server.user("system:kube-controller-manager")?;
    let mut arguments = ALONE_AND_SILENT.map(str::to_owned).to_vec();
    arguments.extend([
        option("kubeconfig", user.kubeconfig()),
        option("root-ca-file", api_server.authority()),
        option("service-account-private-key-file", api_server.service_account_key()),
        // Each controller has the rights that Kubernetes gives it, and no others.
        "--use-service-account-credentials".to_owned(),
    ]);
    let program = Artifact::KubeControllerManager;
    api_server.site().start(program, program.name(), arguments)
}

fn start_kwok(api_server: &ApiServer) -> Result<Process, StartError> {
    let site = api_server.site();
    let arguments = vec![
        option("kubeconfig", api_server.admin().kubeconfig()),
        option("config", &site.artifact(Artifact::KwokStages)?),
        "--manage-all-nodes".to_owned(),
        // As long as a kubelet's; without leases the controller manager would take the nodes for dead.
        "--node-lease-duration-seconds=40".to_owned(),
    ];
    site.start(Artifact::Kwok, "kwok", arguments)
}

fn option(name: &str, file: &Path) -> String {
    format!("--{name}={}", file.display())
}
