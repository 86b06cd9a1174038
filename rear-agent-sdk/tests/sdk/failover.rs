//! Several brokers on one ledger, played by two proxies before one broker: the next is asked when one does not answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::Role;
use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator, Intent, Watch};
use tokio::net::TcpListener;
use tokio::time::{advance, pause, resume, timeout};

use super::bodies::{advertise, request};
use super::process::Broker;
use super::proxy::Proxy;

/// The preferred way to a broker, the other way, and a cluster that knows both.
struct Ways {
    near: Proxy,
    far: Proxy,
    paris: Arc<HttpCommunicator>,
}

impl Ways {
    async fn to(broker: &Broker) -> Self {
        let near = Proxy::before(broker.address).await;
        let far = Proxy::before(broker.address).await;
        let both = format!("https://{},https://{}", near.address, far.address);
        let paris = Arc::new(HttpCommunicator::new(&both, broker.certificates("paris")).unwrap());
        Self { near, far, paris }
    }

    /// The preferred broker is gone: whoever comes is turned away.
    async fn lose_near(&self) {
        self.near.lead_to(nobody().await);
        self.near.cut();
    }
}

/// An address at which nobody listens any more.
async fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preferred_broker_is_asked_alone_while_it_answers() {
    let broker = Broker::start();
    let Ways { near, far, paris } = Ways::to(&broker).await;
    advertise(&*paris, "paris").await;
    paris.ping().await.unwrap();
    assert_eq!((near.connections(), far.connections()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_answer_was_lost_is_answered_by_the_next_broker_and_executed_once() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&*rome, "rome").await;
    let ways = Ways::to(&broker).await;
    ways.paris.ping().await.unwrap();
    let mut told = Watch::new(rome.clone(), Role::Provider);
    told.next().await.unwrap();
    ways.near.lose_answers();
    let asking = ways.paris.clone();
    let asking =
        tokio::spawn(async move { asking.reserve(&request("1", "1Gi"), &Intent::new()).await });
    let executed = told.next().await.unwrap().instructions;
    ways.lose_near().await;
    let made = asking.await.unwrap().unwrap();
    assert_eq!((executed.len(), &executed[0].id), (1, &made.id));
    assert_eq!(ways.paris.reservations(Role::Requester).await.unwrap().len(), 1);
    assert!(ways.far.connections() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_news_come_from_the_next_broker() {
    let broker = Broker::start();
    let ways = Ways::to(&broker).await;
    advertise(&*ways.paris, "paris").await;
    let mut told = Watch::new(ways.paris.clone(), Role::Provider);
    told.next().await.unwrap();
    ways.lose_near().await;
    let made = broker.cluster("rome").reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    assert_eq!(told.next().await.unwrap().instructions[0].id, made.id);
    let mut events = ways.paris.events(None).await.unwrap();
    broker.cluster("rome").release(&made.id).await.unwrap();
    assert!(events.next().await.unwrap().is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn the_preferred_broker_is_returned_to_when_it_is_back() {
    let broker = Broker::start();
    let ways = Ways::to(&broker).await;
    ways.lose_near().await;
    ways.paris.ping().await.unwrap();
    ways.near.lead_to(broker.address);
    let met = ways.near.connections();
    ways.paris.ping().await.unwrap();
    assert_eq!(ways.near.connections(), met, "whoever answers is stayed with");
    pause();
    advance(Duration::from_secs(31)).await;
    resume();
    // The first call looks at it beside its own work. The other way answers nobody from now on, and a call that is
    // given up turns no one away: whoever is answered has returned.
    ways.paris.ping().await.unwrap();
    ways.far.lose_answers();
    let returned =
        async { while timeout(Duration::from_secs(1), ways.paris.ping()).await.is_err() {} };
    timeout(Duration::from_secs(25), returned).await.expect("it asks the preferred broker");
    assert!(ways.near.connections() > met);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_no_broker_answers_the_error_is_told_after_all_were_asked() {
    let broker = Broker::start();
    let ways = Ways::to(&broker).await;
    ways.lose_near().await;
    ways.far.lead_to(nobody().await);
    let error = ways.paris.ping().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(ways.near.connections() > 0 && ways.far.connections() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_opened_at_the_next_broker_when_the_preferred_one_is_gone() {
    let broker = Broker::start();
    let ways = Ways::to(&broker).await;
    ways.paris.ping().await.unwrap();
    ways.lose_near().await;
    drop(ways.paris.events(None).await.unwrap());
    assert!(ways.far.connections() > 0);
}
