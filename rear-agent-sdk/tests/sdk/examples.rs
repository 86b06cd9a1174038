//! The examples do what they say: a host and a broker on one machine, the whole cycle.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::Role;

use super::process::{Broker, built};

fn example(name: &str) -> Command {
    Command::new(built(&["--package", "rear-agent-sdk", "--example", name]))
}

/// Ends with its test.
struct Host(Child);

impl Host {
    fn start(broker: &Broker) -> (Self, Lines<BufReader<ChildStdout>>) {
        let mut child = example("host_agent")
            .arg(format!("https://{}", broker.address))
            .arg(broker.certificates("rome"))
            .arg("rome")
            .arg(broker.folder.path().join("kept.json"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (Self(child), lines)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What `reserve` prints, once the host has advertised.
fn reserve(broker: &Broker, intent: &str) -> String {
    loop {
        let output = example("reserve")
            .arg(format!("https://{}", broker.address))
            .arg(broker.certificates("paris"))
            .args(["100m", "1Mi", intent])
            .output()
            .unwrap();
        if output.status.success() {
            return String::from_utf8(output.stdout).unwrap();
        }
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("NoRoom"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_lends_what_it_has_and_takes_it_back() {
    let broker = Broker::start();
    let (mut host, mut lines) = Host::start(&broker);
    let made = reserve(&broker, "first");
    assert_eq!(reserve(&broker, "first"), made);
    let id = made.split(':').next().unwrap();
    let told = lines.next().unwrap().unwrap();
    assert_eq!(told, format!("keep {id}: Hold 100m CPU / 1Mi Memory for requester paris"));
    let paris = broker.cluster("paris");
    paris.activate(id).await.unwrap();
    paris.release(id).await.unwrap();
    assert!(lines.next().unwrap().unwrap().starts_with(&format!("give back {id}")));
    let pid = host.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(host.0.wait().unwrap().success());
    assert_eq!(paris.reservations(Role::Requester).await.unwrap().len(), 1);
}
