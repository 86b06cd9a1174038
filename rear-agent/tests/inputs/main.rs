//! What fuzzing has found worth keeping, once more: the inputs of `fuzz/surface` that are about what the agent reads.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/surface/src/kubeconfigs.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod kubeconfigs;
#[path = "../../../fuzz/surface/src/resources.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod resources;

/// Every input of a target; there must be one.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/surface/corpus").join(target);
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0, "{target} has no inputs");
}

#[test]
fn no_kubeconfig_is_used_that_runs_programs_or_names_files() {
    replay("kubeconfigs", kubeconfigs::check);
}

#[test]
fn custom_resources_become_requests_or_are_refused() {
    replay("resources", resources::check);
}
