//! What fuzzing has found worth keeping, once more: the inputs of `fuzz/surface` that are about the broker.

use rear_testbed::corpus::replay;

#[path = "../../../fuzz/surface/src/configuration.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod configuration;
#[path = "../../../fuzz/surface/src/identities.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod identities;
#[path = "../../../fuzz/surface/src/requests.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod requests;

#[test]
fn no_request_makes_the_broker_fail_or_its_books_wrong() {
    replay("requests", requests::check).unwrap();
}

#[test]
fn no_certificate_is_taken_for_anothers() {
    replay("identities", identities::check).unwrap();
}

#[test]
fn every_configuration_is_read_or_refused_with_a_reason() {
    replay("configuration", configuration::check).unwrap();
}
