//! Starts everything, says what to try, and holds it.

use std::fs;
use std::path::{Path, PathBuf};

use rear_testbed::artifacts::{Artifact, Places};
use rear_testbed::{Cluster, Node, eventually};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::note::{self, Note, Place};
use super::programs::{Broker, Running};
use super::{NAMESPACE, Outcome, say};

/// Of every cluster.
const NODES: [&str; 3] = ["a", "b", "c"];

/// A cluster, with its agent unless it is bare.
struct Member {
    _agent: Option<Running>,
    cluster: Cluster,
    name: String,
}

pub(super) fn up(names: Vec<String>, bare: bool, kubeconfigs: Option<&Path>) -> Outcome<()> {
    let broker = if bare { None } else { Some(Broker::start(&names)?) };
    let address = broker.as_ref().map_or("none", Broker::address).to_owned();
    say(&format!("broker: {address}"))?;
    let mut members = Vec::new();
    for name in names {
        say(&format!("{name}: starting"))?;
        let cluster = cluster_with_nodes()?;
        let agent = broker.as_ref().map(|broker| install(broker, &cluster, &name)).transpose()?;
        members.push(Member { _agent: agent, cluster, name });
    }
    let place = |member: &Member| Place {
        name: member.name.clone(),
        kubeconfig: member.cluster.api_server().admin().kubeconfig().to_owned(),
    };
    let note = Note {
        process: i32::try_from(std::process::id())?,
        broker: address,
        kubectl: Places::from_environment().find(Artifact::Kubectl)?,
        clusters: members.iter().map(place).collect(),
    };
    let _written = note::write(&note)?;
    if let Some(folder) = kubeconfigs {
        hand_out(&note, folder)?;
    }
    explain(&note)?;
    hold()
}

fn cluster_with_nodes() -> Outcome<Cluster> {
    let mut cluster = Cluster::start()?;
    let nodes = NODES.map(|node| Node::new(node).cpu("8").memory("32Gi"));
    cluster.add_nodes(&nodes)?;
    Ok(cluster)
}

/// What the agent needs in the cluster, and the agent.
fn install(broker: &Broker, cluster: &Cluster, name: &str) -> Outcome<Running> {
    let kubectl = cluster.api_server().kubectl();
    let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/agent");
    let manifests = manifests.to_str().ok_or("the folder has an odd name")?;
    // Definitions take a moment before their kinds can be used.
    eventually(|| kubectl.run(&["apply", "--server-side", "-k", manifests]).ok())
        .ok_or("the manifests do not apply")?;
    kubectl.run(&["wait", "--for=condition=Established", "crd", "--all"])?;
    // The agent runs beside the cluster: there is no kubelet that could run its image.
    let none = ["scale", "deployment", "rear-agent", "-n", NAMESPACE, "--replicas=0"];
    kubectl.run(&none)?;
    let certificates = broker.certificates(name);
    kubectl.apply(&secret(&certificates)?)?;
    let token =
        kubectl.run(&["create", "token", "rear-agent", "-n", NAMESPACE, "--duration=24h"])?;
    let kubeconfig = kubeconfig(cluster, token.trim())?;
    broker.agent(&kubeconfig, name)
}

/// As cert-manager would have made it.
fn secret(certificates: &Path) -> Outcome<String> {
    let file = |name: &str| fs::read_to_string(certificates.join(name));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": { "name": "agent-client-tls", "namespace": NAMESPACE },
        "stringData": {
            "tls.crt": file("tls.crt")?, "tls.key": file("tls.key")?, "ca.crt": file("ca.crt")?,
        },
    });
    Ok(secret.to_string())
}

fn kubeconfig(cluster: &Cluster, token: &str) -> Outcome<PathBuf> {
    let server = cluster.api_server();
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
        "clusters": [{ "name": "a", "cluster": {
            "server": server.url(), "certificate-authority": server.authority() } }],
        "users": [{ "name": "a", "user": { "token": token } }],
    });
    let file = server.folder().join("agent.kubeconfig");
    fs::write(&file, text.to_string())?;
    Ok(file)
}

/// Each under the name of its cluster, for its owner alone.
fn hand_out(note: &Note, folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    for Place { name, kubeconfig } in &note.clusters {
        // With the rights of the original.
        fs::copy(kubeconfig, folder.join(name))?;
    }
    Ok(())
}

fn explain(note: &Note) -> Outcome<()> {
    say("\nEverything is up. In other terminals:\n")?;
    for Place { name, kubeconfig } in &note.clusters {
        say(&format!("  export KUBECONFIG={}   # {name}", kubeconfig.display()))?;
    }
    let kubectl = note.kubectl.display();
    say(&format!("  {kubectl} apply -f deploy/agent/samples/resource-request.yaml"))?;
    say(&format!("  {kubectl} get adv,rr,ri,pi -A"))?;
    say("  cargo xtask playground status | certs FOLDER | reserve | down\n")
}

/// Until someone has had enough.
fn hold() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        say("ending")
    })
}
