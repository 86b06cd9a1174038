//! What users and operators of the Kubernetes interface can rely on: claims about the real program on real API servers,
//! with kubectl as the user and the shipped role as the broker's.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod claims;
#[path = "../broker/client.rs"]
#[allow(dead_code, reason = "the tests of the HTTP API use more of it")]
mod client;
mod contracts;
#[path = "../broker/description.rs"]
#[allow(dead_code, reason = "the tests of the HTTP API use more of it")]
mod description;
mod identities;
mod interruptions;
#[cfg(feature = "failpoints")]
mod kills;
mod lives;
mod manifests;
#[path = "../broker/pki.rs"]
#[allow(dead_code, reason = "the tests of the HTTP API use more of it")]
mod pki;
#[path = "../broker/process.rs"]
#[allow(dead_code, reason = "the tests of the HTTP API use more of it")]
mod process;
mod repairs;
mod restores;
mod rush;
#[cfg(feature = "etcd-tests")]
mod shared;
mod stage;
mod unreadable;
