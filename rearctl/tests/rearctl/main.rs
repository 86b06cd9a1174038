//! What users of the command line can rely on: claims about the program against a real broker process.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod between;
mod brokers;
mod certificates;
mod checks;
mod contexts;
mod exits;
mod formats;
mod hostile;
mod interruptions;
mod ledger;
mod live;
mod many;
mod pictures;
mod program;
mod refusals;
mod stage;
mod terminal;
mod verbs;
mod watching;
