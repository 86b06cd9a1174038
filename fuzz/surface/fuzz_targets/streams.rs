//! What the SDK reads from a broker: a stream of events, and answers.
#![no_main]

#[path = "../src/streams.rs"]
mod streams;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| streams::check(bytes));
