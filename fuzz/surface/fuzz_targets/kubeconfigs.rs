//! The kubeconfig of another cluster.
#![no_main]

#[path = "../src/kubeconfigs.rs"]
mod kubeconfigs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| kubeconfigs::check(bytes));
