//! No sequence of commands breaks an invariant: the auditors and the model look at each step.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rear_engine::testing::script::parse;
use rear_engine::testing::world::World;

fuzz_target!(|bytes: &[u8]| {
    let script = parse(bytes);
    if let Err(broken) = World::new(None).run(&script) {
        panic!("{broken:?} by {script:#?}");
    }
});
