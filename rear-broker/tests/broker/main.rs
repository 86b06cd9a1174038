//! What clusters can trust the broker with: claims about a real process, reached over real TLS.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod administration;
#[cfg(feature = "clients")]
mod authority;
mod client;
#[cfg(any(feature = "operations", feature = "etcd-tests"))]
mod clock;
mod configuration;
mod corpus;
mod counts;
#[cfg(feature = "crowd")]
mod crowd;
#[cfg(feature = "browser")]
mod dashboard;
mod description;
#[cfg(feature = "clients")]
mod development;
mod earlier_agents;
#[cfg(feature = "small-disk")]
mod failing_disks;
mod failures;
mod greedy;
mod hostile;
mod identities;
mod listeners;
mod logs;
mod news;
#[cfg(feature = "clients")]
mod operator;
#[cfg(feature = "operations")]
mod operators;
mod pki;
mod presence;
mod process;
mod reloads;
mod reservations;
mod revocations;
mod rush;
#[cfg(feature = "etcd-tests")]
mod shared;
#[cfg(feature = "operations")]
mod slow_disks;
mod supervisor;
mod tools;
#[cfg(feature = "clients")]
mod upkeep;
