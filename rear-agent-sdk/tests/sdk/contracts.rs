//! The contract of transports: the one over HTTPS and the one of the example keep it, at a real broker process.

use std::sync::Arc;

use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::testing::{Scripted, contract};
use tokio::net::UnixListener;

use super::gateway;
use super::process::Broker;
use super::transport::SocketCommunicator;

impl contract::Stage for Broker {
    fn cluster(&self, name: &str) -> Arc<dyn BrokerCommunicator> {
        Broker::cluster(self, name)
    }
}

/// Gateways of the example before a broker, one for each cluster.
struct Sockets(Broker);

impl contract::Stage for Sockets {
    fn cluster(&self, name: &str) -> Arc<dyn BrokerCommunicator> {
        let socket = self.0.folder.path().join(format!("{name}.socket"));
        let (listener, broker) = (UnixListener::bind(&socket).unwrap(), self.0.cluster(name));
        tokio::spawn(async move { gateway::serve(&listener, broker).await });
        Arc::new(SocketCommunicator::new(socket))
    }
}

/// Transports that answer everything with what nobody asked for.
struct Nothing;

impl contract::Stage for Nothing {
    fn cluster(&self, _name: &str) -> Arc<dyn BrokerCommunicator> {
        let closed = Scripted::default();
        closed.close();
        Arc::new(closed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transport_over_https_keeps_the_whole_contract() {
    assert_eq!(contract::check(&Broker::start()).await, Ok(vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transport_of_the_example_keeps_the_whole_contract() {
    assert_eq!(contract::check(&Sockets(Broker::start())).await, Ok(vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transport_that_keeps_nothing_is_found_out_clause_by_clause() {
    let broken = contract::check(&Nothing).await.unwrap_err();
    // A closed one keeps only what is said of closed ones, and that takes an open one first.
    assert_eq!(broken.len(), contract::CLAUSES.len(), "{broken:?}");
}
