//! What the engine promises, as claims that can fail. One binary: linking is slow on two cores.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod advertisements;
mod audits;
mod blocks;
mod costs;
mod durations;
mod explanations;
mod ids;
mod ledgers;
mod lifecycle;
mod placement;
mod positions;
mod prices;
mod properties;
mod quantities;
mod recovery;
mod worked_examples;

mod stage;
