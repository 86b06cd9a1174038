//! Objects that were stored under another definition: one that cannot be read is its own problem.

use rear_agent_sdk::communicator::{BrokerCommunicator, Role};
use rear_agent_sdk::{Intent, request};
use rear_testbed::eventually;

use super::contracts::{block_on, connect, of_cluster};
use super::stage::{Stage, cores};

/// As a definition may have been that somebody else has installed.
const ANYTHING: &str = r#"[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}]"#;

/// What the type cannot hold.
const SPOILT: &str = r#"{"spec":{"priority":99999999999}}"#;

impl Stage {
    /// Has the API server take anything as an object of this kind.
    fn loosen(&self, kinds: &str) {
        let definition = format!("crd/{kinds}.broker.fluidos.eu");
        self.ask(&["patch", &definition, "--type=json", "-p", ANYTHING]);
    }

    /// Changes an object, as soon as the API server takes that.
    fn change(&self, namespace: &str, object: &str, patch: &str) {
        let change = ["patch", object, "-n", namespace, "--type=merge", "-p", patch];
        eventually(|| self.kubectl().run(&change).ok()).expect("the new definition counts");
    }

    /// How often the broker has said that an object cannot be read.
    fn said(&self, name: &str) -> usize {
        let log = self.broker.log();
        let about = |line: &&str| line.contains("cannot be read") && line.contains(name);
        log.lines().filter(about).count()
    }

    fn until_said(&self, name: &str) {
        let said = eventually(|| (self.said(name) > 0).then_some(()));
        assert!(said.is_some(), "nothing is said of {name}");
    }
}

#[test]
fn one_object_that_cannot_be_read_stops_no_other_and_is_not_given_back() {
    let mut stage = Stage::shared();
    stage.lend("default", "paris", "8", "32Gi");
    stage.lend("default", "oslo", "1", "1Gi");
    stage.wish("default", "spoilt-wish", &cores("2"));
    stage.until_left("default", "paris", "6");
    stage.loosen("reservations");
    stage.loosen("clusteradvertisements");
    stage.change("default", "reservation/spoilt-wish", SPOILT);
    stage.change("default", "clusteradvertisement/oslo-adv", r#"{"spec":{"epoch":"none"}}"#);
    stage.until_said("spoilt-wish");
    stage.until_said("oslo-adv");
    stage.wish("default", "b", &cores("3"));
    stage.until_phase("default", "b", "Reserved");
    stage.until_left("default", "paris", "3");
    // Also at a start, where it is not known as it was.
    stage.broker.stop();
    stage.broker.restart();
    stage.wish("default", "c", &cores("1"));
    stage.until_phase("default", "c", "Reserved");
    stage.until_left("default", "paris", "2");
    stage.lend("default", "paris", "9", "32Gi");
    stage.until_left("default", "paris", "3");
    assert_eq!((stage.said("spoilt-wish"), stage.said("oslo-adv")), (1, 1));
    // Once it can be read, it is what it was.
    stage.change("default", "reservation/spoilt-wish", r#"{"spec":{"priority":null}}"#);
    stage.ask(&["delete", "reservation", "spoilt-wish", "-n", "default", "--timeout=60s"]);
    stage.until_left("default", "paris", "5");
    stage.end();
}

#[test]
fn an_agent_is_told_what_can_be_read_and_that_the_rest_may_live() {
    let stage = Stage::bound(&[]);
    for cluster in ["rome", "paris"] {
        stage.kubectl().apply(&of_cluster(cluster)).unwrap();
        stage.until_served(cluster);
    }
    stage.lend("paris", "paris", "8", "32Gi");
    block_on(async {
        let rome = connect(&stage.server, "rome", "rome").await;
        let reserve = || async { rome.reserve(&request("1", "1Gi"), &Intent::new()).await };
        let (kept, spoilt) = (reserve().await.unwrap(), reserve().await.unwrap());
        let named = format!(
            "-o=jsonpath={{.items[?(@.status.reservationID==\"{}\")].metadata.name}}",
            spoilt.id
        );
        let name = stage.ask(&["get", "reservation", "-n", "rome", &named]);
        stage.loosen("reservations");
        stage.change("rome", &format!("reservation/{name}"), SPOILT);
        let level = rome.instructions(Role::Requester, None).await.unwrap();
        let ids: Vec<_> = level.instructions.iter().map(|promise| promise.id.as_str()).collect();
        assert_eq!(ids, [kept.id.as_str()]);
        assert!(level.unreadable.contains(&spoilt.id), "{level:?}");
        // The provider's copy can be read.
        let paris = connect(&stage.server, "paris", "paris").await;
        let level = paris.instructions(Role::Provider, None).await.unwrap();
        assert_eq!((level.instructions.len(), level.unreadable.len()), (2, 0));
        reserve().await.unwrap();
        rome.release(&kept.id).await.unwrap();
        assert_eq!(rome.reservations(Role::Requester).await.unwrap().len(), 2);
    });
    stage.end();
}
