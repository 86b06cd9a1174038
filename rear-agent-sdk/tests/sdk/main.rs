//! What users of the SDK can rely on: claims about a real broker process, reached over real TLS.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod agents;
mod bodies;
mod certificates;
mod cluster;
mod contracts;
mod corpus;
mod earlier_broker;
mod examples;
mod failover;
#[path = "../../examples/custom_transport/gateway.rs"]
mod gateway;
mod hostile;
mod interruptions;
mod operators;
mod patience;
#[path = "../../../rear-broker/tests/broker/pki.rs"]
#[allow(dead_code, reason = "the broker's own tests use more of it")]
mod pki;
mod process;
#[path = "../../examples/custom_transport/protocol.rs"]
mod protocol;
mod proxy;
mod recoveries;
mod reservations;
mod stand_in;
mod together;
#[path = "../../examples/custom_transport/transport.rs"]
mod transport;
