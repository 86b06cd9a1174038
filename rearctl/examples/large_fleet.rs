//! Fills the ledger of a data directory with ten thousand clusters and a hundred thousand reservations, to measure
//! `rearctl` against: see `docs/how-to/use-rearctl.md`.
// A data directory that cannot be filled should fail at once.
#![allow(clippy::unwrap_used)]

#[path = "../tests/rearctl/ledger.rs"]
mod ledger;

fn main() {
    let data = std::env::args_os().nth(1).expect("a data directory that `rear-broker init` made");
    ledger::fill(data.as_ref(), 10_000, 100_000);
}
