//! What fuzzing has found worth keeping, once more: the inputs of `fuzz/surface` that are about what the agent reads.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

use rear_testbed::corpus::replay;

#[path = "../../../fuzz/surface/src/kubeconfigs.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod kubeconfigs;
#[path = "../../../fuzz/surface/src/resources.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod resources;

#[test]
fn no_kubeconfig_is_used_that_runs_programs_or_names_files() {
    replay("kubeconfigs", kubeconfigs::check).unwrap();
}

#[test]
fn custom_resources_become_requests_or_are_refused() {
    replay("resources", resources::check).unwrap();
}
