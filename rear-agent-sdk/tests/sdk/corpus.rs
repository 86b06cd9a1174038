//! What fuzzing has found worth keeping, once more: streams of events in `fuzz/surface`.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/surface/src/streams.rs"]
#[allow(unreachable_pub, reason = "the fuzzer calls it from another crate")]
mod streams;

#[test]
fn a_stream_means_one_thing_wherever_it_is_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/surface/corpus/streams");
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        streams::check(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0, "there are no inputs");
}
