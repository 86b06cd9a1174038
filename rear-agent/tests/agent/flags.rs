//! What the operator says is heeded, or refused with a reason.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;

use rear_agent_sdk::BrokerCommunicator;
use rear_testbed::eventually;

use super::agent::Start;
use super::background::block_on;
use super::pki::Authority;
use super::process::Broker;
use super::site::Site;

/// What a start that cannot work says.
fn refused(start: &Start<'_>) -> String {
    let ended = start.command().stderr(Stdio::piped()).output().unwrap();
    assert!(!ended.status.success());
    String::from_utf8(ended.stderr).unwrap()
}

/// A port that nobody has at this moment.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut connection = TcpStream::connect(address).ok()?;
    write!(connection, "GET {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn flags_that_cannot_work_are_refused_with_a_reason() {
    let site = Site::start();
    let broker = Broker::start();
    let other = Start::with(&site, &broker, "rome").flag("--cluster-id=paris");
    let said = refused(&other);
    assert!(said.contains("--cluster-id=paris") && said.contains("rome"), "{said}");
    let said = refused(&Start::alone(&site).flag("--broker-transport=http"));
    assert!(said.contains("--broker-url"), "{said}");
    let said = refused(&Start::alone(&site).flag("--broker-transport=kubernetes"));
    assert!(said.contains("needs --broker-kubeconfig"), "{said}");
    let nowhere = Start::alone(&site)
        .flag("--broker-transport=http")
        .flag("--broker-url=https://127.0.0.1:1")
        .flag("--broker-cert-path=/nonexistent");
    let said = refused(&nowhere);
    assert!(said.contains("/nonexistent"), "{said}");
}

#[test]
fn what_the_operator_says_of_price_and_labels_is_told_here_and_at_the_broker() {
    let site = Site::with_nodes(&[("a", "8", "8Gi")]);
    let broker = Broker::start();
    let start = Start::with(&site, &broker, "rome")
        .flag("--cpu-cost=0.05")
        .flag("--memory-cost=0.01")
        .flag("--currency=EUR")
        .flag("--labels=region=eu,tier=gold");
    let _agent = start.run();
    let object = "advertisement/cluster-advertisement";
    site.until(object, ".spec.cost.cpuCost", "0.05");
    site.until(object, ".status.published", "true");
    let rome = "rome".parse().unwrap();
    let told = block_on(broker.cluster("rome").advertisement(&rome)).unwrap().unwrap();
    let cost = told.cost.unwrap();
    assert_eq!((cost.memory_cost.as_str(), cost.currency.as_str()), ("0.01", "EUR"));
    assert_eq!(told.labels.unwrap().0["tier"], "gold");
}

#[test]
fn why_a_broker_does_not_take_the_certificate_is_said_in_the_advertisement() {
    let site = Site::start();
    let broker = Broker::start();
    let folder = broker.files_of(&Authority::new().cluster("rome"), "foreign");
    let start = Start::with(&site, &broker, "rome");
    let said = refused(&start.flag(&format!("--broker-cert-path={}", folder.display())));
    assert!(said.contains("does not accept the certificate"), "{said}");
    let object = "advertisement/cluster-advertisement";
    site.until(object, ".status.phase", "Failed");
    let why = site.field(object, ".status.message").unwrap();
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn probes_and_metrics_tell_how_it_is() {
    let site = Site::with_nodes(&[("a", "8", "8Gi")]);
    let (health, metrics) = (free_port(), free_port());
    let start = Start::alone(&site)
        .flag(&format!("--health-probe-bind-address={health}"))
        .flag(&format!("--metrics-bind-address={metrics}"));
    let _agent = start.run();
    let ready = eventually(|| get(health, "/readyz").filter(|answer| answer.contains(" 200 ")));
    ready.expect("it becomes ready");
    assert!(get(health, "/healthz").unwrap().contains(" 200 "));
    let counted = r#"rear_agent_resources{kind="capacity",dimension="cpu"} 8000"#;
    let shown = eventually(|| get(metrics, "/metrics").filter(|text| text.contains(counted)));
    let shown = shown.expect("the sums are shown");
    assert!(
        shown.contains("rear_agent_nodes 1") && shown.contains("rear_agent_leader 1"),
        "{shown}"
    );
}

#[test]
fn of_two_copies_one_works_and_the_other_takes_over() {
    let site = Site::with_nodes(&[("a", "8", "8Gi")]);
    let object = "advertisement/cluster-advertisement";
    let first = Start::alone(&site).flag("--leader-elect").run();
    site.until(object, ".spec.resources.capacity.cpu", "8");
    let holder = site.field("lease/rear-agent-leader", ".spec.holderIdentity").unwrap();
    let second = Start::alone(&site).flag("--leader-elect").run();
    eventually(|| second.log().contains("waiting for the Lease").then_some(())).unwrap();
    first.kill();
    let taken = eventually(|| {
        let now = site.field("lease/rear-agent-leader", ".spec.holderIdentity")?;
        (now != holder && second.log().matches("this copy works").count() == 2).then_some(())
    });
    taken.expect("the second takes over");
    site.add_node("b", "4", "4Gi");
    site.until(object, ".spec.resources.capacity.cpu", "12");
}
