//! What fuzzing has found worth keeping, once more: the inputs of `fuzz/surface` that are about the broker.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/surface/src/configuration.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod configuration;
#[path = "../../../fuzz/surface/src/identities.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod identities;
#[path = "../../../fuzz/surface/src/requests.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod requests;

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
fn no_request_makes_the_broker_fail_or_its_books_wrong() {
    replay("requests", requests::check);
}

#[test]
fn no_certificate_is_taken_for_anothers() {
    replay("identities", identities::check);
}

#[test]
fn every_configuration_is_read_or_refused_with_a_reason() {
    replay("configuration", configuration::check);
}
