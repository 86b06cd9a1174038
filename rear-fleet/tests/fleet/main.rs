//! What users of the fleet can rely on: claims about a real broker process.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod fleets;
mod liars;
mod loads;
#[path = "../../../rear-broker/tests/broker/pki.rs"]
#[allow(dead_code, reason = "the broker's own tests use more of it")]
mod pki;
#[path = "../../../rear-agent-sdk/tests/sdk/process.rs"]
#[allow(dead_code, reason = "the SDK's own tests use more of it")]
mod process;
#[path = "../../../rear-agent-sdk/tests/sdk/proxy.rs"]
#[allow(dead_code, reason = "the SDK's own tests use more of it")]
mod proxy;
