//! What the store promises, as claims that can fail. One binary: linking is slow on two cores.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod backups;
mod batches;
mod board;
mod contests;
mod crashes;
mod crowd;
mod damage;
mod disk;
#[cfg(feature = "etcd-tests")]
mod etcd;
mod failures;
mod feeds;
mod files;
mod handovers;
mod history;
mod journals;
mod kills;
mod linear;
mod machines;
mod migrations;
mod outages;
mod records;
mod refreshments;
mod sharing;
mod sizes;
mod stage;
mod time;
mod upgrades;
mod verifies;
mod views;
mod writers;
