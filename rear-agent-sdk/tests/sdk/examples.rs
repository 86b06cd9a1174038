//! The examples do what they say: a host and a broker on one machine, the whole cycle.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::Role;

use super::bodies::advertise;
use super::cluster::within;
use super::process::Broker;

fn example(name: &str) -> Command {
    Command::new(rear_testbed::programs::example(name))
}

/// A host agent. Ends with its test.
struct Host {
    child: Child,
    commands: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(broker: &Broker, name: &str) -> Self {
        let mut child = example("host_agent")
            .arg(format!("https://{}", broker.address))
            .arg(broker.certificates(name))
            .arg(name)
            .arg(broker.folder.path().join(format!("{name}.json")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { commands: child.stdin.take().unwrap(), child, lines }
    }

    fn types(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    fn says(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// What it says next two times, in whichever order: its agent and its command line are not one after the other.
    fn says_both(&mut self) -> [String; 2] {
        let mut said = [self.says(), self.says()];
        said.sort();
        said
    }

    fn ends(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Until a provider has advertised.
async fn lent(broker: &Broker, host: &str) {
    let (agent, host) = (broker.cluster(host), host.parse().unwrap());
    within(async {
        while agent.advertisement(&host).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_and_a_broker_do_the_whole_cycle() {
    let broker = Broker::start();
    let (mut rome, mut paris) = (Host::start(&broker, "rome"), Host::start(&broker, "paris"));
    lent(&broker, "rome").await;
    lent(&broker, "paris").await;
    paris.types("reserve 100m 1Mi first");
    let told = rome.says();
    let id = told.strip_prefix("keep ").and_then(|told| told.split(':').next()).unwrap().to_owned();
    assert_eq!(told, format!("keep {id}: Hold 100m CPU / 1Mi Memory for requester paris"));
    let uses = format!("keep {id}: Use rome for 100m CPU / 1Mi Memory");
    assert_eq!(paris.says_both(), [format!("Reserved {id}"), uses]);
    paris.types("reserve 100m 1Mi first");
    assert_eq!(paris.says(), format!("Reserved {id}"));
    paris.types(&format!("activate {id}"));
    assert_eq!(paris.says(), format!("Active {id}"));
    paris.types(&format!("release {id}"));
    let [released, given_back] = paris.says_both();
    assert_eq!(released, format!("Released {id}"));
    assert!(given_back.starts_with(&format!("give back {id}")), "{given_back}");
    assert!(rome.says().starts_with(&format!("give back {id}")));
    paris.types("release nothing");
    assert!(paris.says().starts_with("not done: "));
    rome.ends();
    paris.ends();
    let all = broker.cluster("paris").reservations(Role::Requester).await.unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_lines_reserve_and_the_same_intent_is_the_same_reservation() {
    let broker = Broker::start();
    advertise(&*broker.cluster("rome"), "rome").await;
    let reserve = || {
        let output = example("reserve")
            .arg(format!("https://{}", broker.address))
            .arg(broker.certificates("paris"))
            .args(["100m", "1Mi", "first"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let made = reserve();
    assert!(made.contains("Use rome for 100m CPU / 1Mi Memory"), "{made}");
    assert_eq!(reserve(), made);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_a_certificate_reserves_through_a_socket() {
    let broker = Broker::start();
    advertise(&*broker.cluster("rome"), "rome").await;
    let socket = broker.folder.path().join("socket");
    let gateway = example("custom_transport")
        .arg("serve")
        .arg(&socket)
        .arg(format!("https://{}", broker.address))
        .arg(broker.certificates("paris"))
        .spawn();
    let mut gateway = Gateway(gateway.unwrap());
    within(async {
        while !socket.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let mut reserve = example("custom_transport");
    let output = reserve.arg("reserve").arg(&socket).args(["100m", "1Mi"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Use rome for 100m CPU / 1Mi Memory"), "{said}");
    assert_eq!(gateway.0.try_wait().unwrap(), None);
}

/// Ends with its test.
struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
