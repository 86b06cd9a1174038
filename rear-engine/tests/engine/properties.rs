//! Every invariant of the engine over random histories; and for each a planted fault that is noticed.

use proptest::prelude::*;
use rear_engine::testing::faults::Fault;
use rear_engine::testing::script::{OP_LENGTH, parse};
use rear_engine::testing::world::{Broken, World};

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_history_breaks_an_invariant(
        bytes in prop::collection::vec(any::<u8>(), 0..OP_LENGTH * 150)
    ) {
        let script = parse(&bytes);
        let outcome = World::new(None).run(&script);
        prop_assert_eq!(outcome, Ok(()), "{:#?}", script);
    }
}

/// A fixed stream of bytes: planted faults must be found without luck.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32).to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn every_planted_fault_is_noticed() {
    for fault in Fault::ALL {
        let mut complaints = (1..=200).filter_map(|seed| {
            let script = parse(&noise(seed, OP_LENGTH * 150));
            World::new(Some(fault)).run(&script).err()
        });
        let by_its_own_watcher = complaints.any(|broken| match broken {
            Broken::Invariant(violation) => Some(violation.invariant()) == fault.breaks(),
            Broken::Provider { .. } => fault.breaks().is_none(),
            _ => false,
        });
        assert!(by_its_own_watcher, "{fault:?} went unnoticed");
    }
}

#[test]
fn histories_reach_what_they_are_meant_to_test() {
    let (mut granted, mut active, mut ended, mut forgotten, mut overcommitted) = (0, 0, 0, 0, 0);
    for seed in 1..=60 {
        let mut world = World::new(None);
        world.run(&parse(&noise(seed, OP_LENGTH * 150))).unwrap();
        let phase = |name: &str| {
            world.fleet.reservations().filter(|kept| kept.phase.name() == name).count()
        };
        granted += world.granted();
        forgotten += world.granted() - world.fleet.reservations().count();
        active += phase("Active");
        ended += phase("Released") + phase("Failed");
        overcommitted += world.fleet.clusters().filter(|kept| kept.is_overcommitted()).count();
    }
    assert!(
        granted > 300 && active > 10 && ended > 100 && forgotten > 50 && overcommitted > 10,
        "granted {granted}, active {active}, ended {ended}, forgotten {forgotten}, overcommitted {overcommitted}"
    );
}
