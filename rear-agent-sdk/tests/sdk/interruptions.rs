//! Lost answers, cut connections, brokers that end and come again: nothing is executed twice.

use rear_agent_sdk::communicator::Role;
use rear_agent_sdk::{BrokerCommunicator, Error, Intent, Watch};

use super::bodies::{advertise, request};
use super::process::Broker;
use super::proxy::Proxy;

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_asked_for_again_and_executed_once() {
    let broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = broker.cluster("rome");
    advertise(&*rome, "rome").await;
    let paris = broker.cluster_at("paris", proxy.address);
    paris.ping().await.unwrap();
    let mut told = Watch::new(rome.clone(), Role::Provider);
    told.next().await.unwrap();
    proxy.lose_answers();
    let asking = paris.clone();
    let asking =
        tokio::spawn(async move { asking.reserve(&request("1", "1Gi"), &Intent::new()).await });
    // It is executed: the provider is told.
    let executed = told.next().await.unwrap().instructions;
    assert_eq!(executed.len(), 1);
    proxy.cut();
    let made = asking.await.unwrap().unwrap();
    assert_eq!(made.id, executed[0].id);
    assert_eq!(paris.reservations(Role::Requester).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_stays_lost_when_nobody_can_be_asked_again() {
    let broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = broker.cluster("rome");
    advertise(&*rome, "rome").await;
    let paris = broker.cluster_at("paris", proxy.address);
    paris.ping().await.unwrap();
    let mut told = Watch::new(rome.clone(), Role::Provider);
    told.next().await.unwrap();
    proxy.lose_answers();
    let asking =
        tokio::spawn(async move { paris.reserve(&request("1", "1Gi"), &Intent::new()).await });
    assert_eq!(told.next().await.unwrap().instructions.len(), 1);
    proxy.close().await;
    // It was granted: whoever is told that nothing was sent asks for another one.
    let error = asking.await.unwrap().unwrap_err();
    assert!(error.leaves_open() && error.is_transient() && !error.was_not_sent(), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_not_repeated_to_a_ledger_that_was_restored_since() {
    let mut broker = Broker::start();
    advertise(&*broker.cluster("rome"), "rome").await;
    broker.kill();
    broker.save();
    broker.restart();
    let proxy = Proxy::before(broker.address).await;
    let paris = broker.cluster_at("paris", proxy.address);
    paris.ping().await.unwrap();
    let mut told = Watch::new(broker.cluster("rome"), Role::Provider);
    told.next().await.unwrap();
    proxy.lose_answers();
    let asking =
        tokio::spawn(async move { paris.reserve(&request("1", "1Gi"), &Intent::new()).await });
    assert_eq!(told.next().await.unwrap().instructions.len(), 1);
    // The saved ledger knows neither the promise nor the key: whoever asks it again gets a second one.
    broker.replace_by_saved();
    proxy.lead_to(broker.address);
    proxy.cut();
    let error = asking.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_was_killed_is_found_again() {
    let mut broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = broker.cluster_at("rome", proxy.address);
    let paris = broker.cluster_at("paris", proxy.address);
    advertise(&*rome, "rome").await;
    let mut told = Watch::new(rome.clone(), Role::Provider);
    told.next().await.unwrap();
    broker.kill();
    assert!(paris.ping().await.unwrap_err().is_transient());
    broker.restart();
    proxy.lead_to(broker.address);
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    assert_eq!(told.next().await.unwrap().instructions[0].id, made.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_at_the_address_is_transient_and_says_what_to_look_at() {
    let mut broker = Broker::start();
    let paris = broker.cluster("paris");
    broker.kill();
    let error = paris.ping().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.is_transient() && error.was_not_sent());
}
