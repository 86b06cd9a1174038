//! What fuzzing has found worth keeping, once more: streams of events in `fuzz/surface`.

use rear_testbed::corpus::replay;

#[path = "../../../fuzz/surface/src/streams.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod streams;

#[test]
fn a_stream_means_one_thing_wherever_it_is_cut() {
    replay("streams", streams::check).unwrap();
}
