//! The configuration file of the broker.
#![no_main]

#[path = "../src/configuration.rs"]
mod configuration;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| configuration::check(bytes));
