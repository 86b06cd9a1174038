//! What clusters can trust the broker with: claims about a real process, reached over real TLS.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod client;
mod counts;
mod description;
mod earlier_agents;
mod hostile;
mod identities;
mod news;
mod pki;
mod process;
mod reservations;
mod rush;
mod tools;
