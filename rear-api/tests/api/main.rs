//! What the wire promises, as claims that can fail. One binary: linking is slow on two cores.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod advertisements;
mod answers;
mod earlier_system;
mod events;
mod familiar;
mod hostile;
mod moments;
mod pages;
mod problems;
mod reservations;
mod resources;
mod round_trips;
mod schemas;

mod any_body;
mod any_value;
mod bodies;
