//! What the store promises, as claims that can fail. One binary: linking is slow on two cores.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod crashes;
mod disk;
mod files;
mod history;
mod journals;
mod kills;
mod records;
mod time;
mod writers;
