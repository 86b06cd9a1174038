//! Custom resources of the broker's cluster and the agent's.
#![no_main]

#[path = "../src/resources.rs"]
mod resources;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| resources::check(bytes));
