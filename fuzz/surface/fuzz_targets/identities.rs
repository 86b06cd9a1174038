//! Whom a certificate names.
#![no_main]

#[path = "../src/identities.rs"]
mod identities;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| identities::check(bytes));
