//! What users and operators of the agent can rely on: claims about the real program, on real API servers, with kubectl as
//! the user and the shipped role as the agent's.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod advertisements;
mod agent;
mod background;
mod broker_cluster;
mod by_hand;
#[path = "../../../rear-broker/tests/broker/clock.rs"]
mod clock;
mod earlier_broker;
mod flags;
mod install;
mod interruptions;
#[cfg(feature = "failpoints")]
mod kills;
mod peering;
#[path = "../../../rear-broker/tests/broker/pki.rs"]
#[allow(dead_code, reason = "the broker's own tests use more of it")]
mod pki;
#[path = "../../../rear-agent-sdk/tests/sdk/process.rs"]
#[allow(dead_code, reason = "the SDK's own tests use more of it")]
mod process;
mod providers;
#[path = "../../../rear-agent-sdk/tests/sdk/proxy.rs"]
#[allow(dead_code, reason = "the SDK's own tests use more of it")]
mod proxy;
mod recoveries;
mod requests;
mod site;
#[path = "../../../rear-agent-sdk/tests/sdk/stand_in.rs"]
#[allow(dead_code, reason = "the SDK's own tests use more of it")]
mod stand_in;
mod unreadable;
mod users;
