//! After a restore of the broker's ledger, requesters wait for providers before they take a promise for ended.

use std::time::Duration;

use rear_agent_sdk::communicator::{Reservation, Role};
use rear_agent_sdk::{BrokerCommunicator, Intent};

use super::bodies::request;
use super::cluster::{Cluster, Running, within};
use super::process::Broker;
use super::proxy::Proxy;

/// Rome lends to Paris: one promise that the restored ledger knows, and one that it has forgotten.
struct Stage {
    broker: Broker,
    rome: Cluster,
    paris: Cluster,
    way_of_rome: Proxy,
    agents: [Running; 2],
    known: Reservation,
    forgotten: Reservation,
}

impl Stage {
    /// Paris has found the restored ledger, and Rome has not.
    async fn restored() -> Self {
        let mut broker = Broker::start();
        let way_of_rome = Proxy::before(broker.address).await;
        let way_of_paris = Proxy::before(broker.address).await;
        let (rome, paris) = (Cluster::new("8", "16Gi"), Cluster::new("1", "1Gi"));
        let agents = [
            rome.agent("rome", broker.cluster_at("rome", way_of_rome.address)),
            paris.agent("paris", broker.cluster_at("paris", way_of_paris.address)),
        ];
        rome.until(|memory| memory.told.last() == Some(&true)).await;
        let reserve = async |broker: &Broker, cpu: &str| {
            let user = broker.cluster("paris");
            user.reserve(&request(cpu, "1Gi"), &Intent::new()).await.unwrap()
        };
        let known = reserve(&broker, "1").await;
        both_keep(&rome, &paris, 1).await;
        broker.kill();
        broker.save();
        broker.restart();
        way_of_rome.lead_to(broker.address);
        way_of_paris.lead_to(broker.address);
        let forgotten = reserve(&broker, "2").await;
        both_keep(&rome, &paris, 2).await;
        broker.replace_by_saved();
        way_of_paris.lead_to(broker.address);
        Self { broker, rome, paris, way_of_rome, agents, known, forgotten }
    }

    /// Paris has acted on a level of the restored ledger: it has given back what it released there.
    async fn until_paris_has_looked(&self) {
        within(async {
            // The restored ledger knows it, whatever its provider says.
            while self.broker.cluster("paris").release(&self.known.id).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        self.paris.until(|memory| memory.given_back.contains(&self.known.id)).await;
    }

    async fn stop(self) {
        for agent in self.agents {
            agent.stop().await.unwrap();
        }
    }
}

async fn both_keep(rome: &Cluster, paris: &Cluster, number: usize) {
    rome.until(|memory| memory.kept.len() == number).await;
    paris.until(|memory| memory.kept.len() == number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_a_restored_ledger_has_forgotten_is_kept_until_its_provider_has_spoken() {
    let stage = Stage::restored().await;
    stage.until_paris_has_looked().await;
    assert!(stage.paris.with(|memory| memory.keeps(Role::Requester, &stage.forgotten.id)));
    stage.way_of_rome.lead_to(stage.broker.address);
    let user = stage.broker.cluster("paris");
    within(async {
        while user.reservation(&stage.forgotten.id).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Its end is told as always, now that the ledger knows it again.
    user.release(&stage.forgotten.id).await.unwrap();
    stage.paris.until(|memory| memory.kept.is_empty()).await;
    stage.rome.until(|memory| memory.kept.is_empty()).await;
    let both = [stage.known.id.clone(), stage.forgotten.id.clone()];
    stage.paris.with(|memory| {
        assert_eq!(memory.asked, both, "nothing was handed over again");
        assert_eq!(memory.given_back, both, "each was given back once");
    });
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_its_provider_does_not_hold_any_more_is_given_back() {
    let stage = Stage::restored().await;
    stage.until_paris_has_looked().await;
    stage.rome.with(|memory| memory.kept.clear());
    stage.way_of_rome.lead_to(stage.broker.address);
    stage.paris.until(|memory| memory.kept.is_empty()).await;
    stage.stop().await;
}
