//! Every command of the how-tos does what they say.
//!
//! Each begins with what its page says that the reader has. Pages without an entry here have no command that can be executed:
//! [`every_other_page_says_why_nothing_of_it_is_executed`] looks at those.

use rear_packaging::document::{Act, steps};

use super::documents::pages;
use super::session::Trial;
use super::tree::text;

/// Why a command of a how-to may be left out.
const ACCEPTED: [&str; 14] = [
    "needs Kind and Liqo",
    "needs Docker",
    "needs cert-manager",
    "needs systemd",
    "needs Debian with systemd",
    "needs three machines with etcd",
    "needs a cluster that runs containers",
    "takes an hour",
    "a measurement",
    "the tutorial does it",
    "the suite workspace does it",
    "the suite packages does it",
    "the suite api-servers does it",
    "the suite shared-ledger does it",
];

/// The pages whose commands are executed by a test of their own.
const EXECUTED: [&str; 12] = [
    "back-up-and-restore",
    "install-the-agent",
    "install-with-helm",
    "look-at-the-fleet",
    "monitor",
    "run-a-broker",
    "serve-custom-resources",
    "simulate-a-fleet",
    "upgrade",
    "use-rearctl",
    "when-it-does-not-work",
    "write-an-agent",
];

/// The broker and its command lines are installed.
pub(crate) const PROGRAMS: &str = r#"
cargo build --quiet --release --package rear-broker
cargo build --quiet --release --package rearctl
PATH="$PWD/target/release:$PATH"
"#;

/// The agent, and what plays clusters for it.
pub(crate) const AGENT: &str = "cargo build --quiet --release --package rear-agent\n";

/// A broker runs as the package installs it, and two clusters are known to it: rome, and paris with GPUs.
const BROKER: &str = r#"
cargo build --quiet --release --package rear-broker
cargo build --quiet --release --package rearctl
PATH="$PWD/target/release:$PATH"
mkdir -p /etc/rear /var/backups
cp deploy/systemd/broker.toml /etc/rear/
rear-broker init --data /var/lib/rear --name broker.example.org
rear-broker serve --data /var/lib/rear 2> broker.log &
until grep -q '"serving"' broker.log; do sleep 0.1; done
for cluster in rome paris; do
  rear-broker certs issue $cluster --data /var/lib/rear
  cp -r /var/lib/rear/issued/$cluster /etc/rear/
  all='{"cpu":"8","memory":"32Gi","gpu":"2"}'
  none='{"cpu":"0","memory":"0"}'
  curl --silent --fail --cacert /etc/rear/$cluster/ca.crt --cert /etc/rear/$cluster/tls.crt --key /etc/rear/$cluster/tls.key \
    https://localhost:8443/api/v1/advertisements \
    -d '{"clusterID":"'$cluster'","timestamp":"'$(date -u +%FT%TZ)'","resources":{"capacity":'$all',"allocatable":'$all',"allocated":'$none'}}'
done
"#;

/// Two clusters with nodes and nothing else, each with a context of its name; what cert-manager defines is there.
const CLUSTERS: &str = r#"
cargo xtask playground up --bare --names rome,paris --kubeconfigs "$PWD/kubeconfigs" > playground.log 2>&1 &
until grep -q 'Everything is up' playground.log; do sleep 0.5; done
for cluster in rome paris; do
  kubectl --kubeconfig kubeconfigs/$cluster config view --raw --flatten > $cluster.flat
  at() { kubectl --kubeconfig $cluster.flat config view --raw -o jsonpath="{$1}"; }
  at '.clusters[0].cluster.certificate-authority-data' | base64 -d > $cluster.ca
  at '.users[0].user.client-certificate-data' | base64 -d > $cluster.crt
  at '.users[0].user.client-key-data' | base64 -d > $cluster.key
  export KUBECONFIG="$PWD/contexts"
  kubectl config set-cluster $cluster --server="$(at '.clusters[0].cluster.server')" --certificate-authority=$cluster.ca --embed-certs
  kubectl config set-credentials $cluster --client-certificate=$cluster.crt --client-key=$cluster.key --embed-certs
  kubectl config set-context $cluster --cluster=$cluster --user=$cluster
  kubectl --context $cluster apply --server-side -f "$SERVERS"/cert-manager-*/cert-manager-crds.yaml
  kubectl --context $cluster wait --for=condition=Established crd --all
  kubectl --context $cluster create namespace cert-manager
done
kubectl config use-context paris
"#;

fn how_to(name: &str) -> String {
    assert!(EXECUTED.contains(&name), "{name}");
    format!("docs/how-to/{name}.md")
}

#[test]
fn back_up_and_restore() {
    Trial::of(&how_to("back-up-and-restore")).after(BROKER).run();
}

#[test]
fn install_the_agent() {
    let broker = "rear-broker init --data /var/lib/rear --name broker.example.com\n\
                  rear-broker serve --data /var/lib/rear 2> broker.log &";
    let before = format!("{PROGRAMS}{AGENT}{broker}\n{CLUSTERS}");
    Trial::of(&how_to("install-the-agent")).after(&before).accepting(&ACCEPTED).run();
}

#[test]
fn install_with_helm() {
    let certificates =
        "rear-broker init --data ca\nrear-broker certs issue rome --data ca\ncp -r ca/issued .";
    let before = format!("{PROGRAMS}{AGENT}{CLUSTERS}\n{certificates}");
    Trial::of(&how_to("install-with-helm")).after(&before).run();
}

#[test]
fn look_at_the_fleet() {
    Trial::of(&how_to("look-at-the-fleet")).after(PROGRAMS).run();
}

#[test]
fn monitor() {
    Trial::of(&how_to("monitor")).run();
}

#[test]
fn run_a_broker() {
    let before = format!("{PROGRAMS}mkdir -p /var/backups");
    Trial::of(&how_to("run-a-broker")).after(&before).accepting(&ACCEPTED).run();
}

/// The broker cluster is the one of the current context; rome's own has the agent's custom resources.
#[test]
fn serve_custom_resources() {
    let rest = "rear-broker init --data /var/lib/rear\n\
                kubectl config view --raw --minify --flatten > broker.kubeconfig\n\
                rear-agent crds | kubectl --context rome apply -f -\n\
                kubectl --context rome wait --for=condition=Established crd --all";
    let before = format!("{PROGRAMS}{AGENT}{CLUSTERS}\n{rest}");
    Trial::of(&how_to("serve-custom-resources")).after(&before).accepting(&ACCEPTED).run();
}

#[test]
fn simulate_a_fleet() {
    Trial::of(&how_to("simulate-a-fleet")).run();
}

#[test]
fn upgrade() {
    Trial::of(&how_to("upgrade")).after(BROKER).run();
}

#[test]
fn use_rearctl() {
    Trial::of(&how_to("use-rearctl")).after(BROKER).accepting(&ACCEPTED).run();
}

#[test]
fn write_an_agent() {
    let build = "cargo build --quiet --release --package rear-agent-sdk --example host_agent";
    let before = format!("{BROKER}{build}\nmkdir certs; cp -r /etc/rear/rome certs/");
    Trial::of(&how_to("write-an-agent")).after(&before).run();
}

#[test]
fn every_other_page_says_why_nothing_of_it_is_executed() {
    let how_tos = pages().into_iter().filter(|page| page.starts_with("docs/how-to"));
    for page in how_tos {
        let name = page.file_stem().unwrap().to_str().unwrap();
        if EXECUTED.contains(&name) {
            continue;
        }
        for step in steps(&text(page.to_str().unwrap())).unwrap() {
            match step.act {
                Act::Leave { reason } => {
                    assert!(ACCEPTED.contains(&reason.as_str()), "{name}:{}: {reason}", step.line);
                }
                act => panic!("{name}:{}: nobody executes {act:?}", step.line),
            }
        }
    }
}
