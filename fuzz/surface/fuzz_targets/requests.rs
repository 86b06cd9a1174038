//! The HTTP surface: requests of anyone, one after the other, to a whole broker in this process.
#![no_main]

#[path = "../src/requests.rs"]
mod requests;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| requests::check(bytes));
