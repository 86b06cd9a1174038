//! What users of the SDK can rely on: claims about a real broker process, reached over real TLS.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod agents;
mod bodies;
mod certificates;
mod cluster;
mod earlier_broker;
mod examples;
mod hostile;
mod interruptions;
mod operators;
#[path = "../../../rear-broker/tests/broker/pki.rs"]
#[allow(dead_code, reason = "the broker's own tests use more of it")]
mod pki;
mod process;
mod proxy;
mod reservations;
mod stand_in;
