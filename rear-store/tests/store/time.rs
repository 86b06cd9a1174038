//! Time goes on, never back, and is not fooled by a clock that jumps.

use proptest::prelude::*;
use rear_engine::{Duration, Timestamp};
use rear_store::timekeeper::{Alarm, Clocks, MAX_STEP_AHEAD, Timekeeper};

fn at(wall: i64, monotonic: i64) -> Clocks {
    Clocks { wall: Timestamp::from_seconds(wall), monotonic: Duration::from_seconds(monotonic) }
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

#[test]
fn it_follows_the_wall_clock() {
    let mut keeper = Timekeeper::resume(seconds(0));
    for (wall, monotonic) in [(1000, 5), (1001, 6), (1001, 6), (1300, 6), (1301, 400)] {
        let reading = keeper.read(at(wall, monotonic));
        assert_eq!((reading.now, reading.alarm), (seconds(wall), None));
        assert_eq!(keeper.mark(), seconds(wall));
    }
}

#[test]
fn behind_its_mark_it_goes_on_by_the_monotonic_clock() {
    let mut keeper = Timekeeper::resume(seconds(0));
    keeper.read(at(1000, 0));
    assert_eq!(keeper.read(at(400, 10)).now, seconds(1010));
    assert_eq!(keeper.read(at(500, 110)).now, seconds(1110));
    // The wall clock comes back.
    assert_eq!(keeper.read(at(1200, 130)).now, seconds(1200));
}

#[test]
fn a_restart_does_not_go_back_behind_what_was_promised() {
    let mut keeper = Timekeeper::resume(seconds(5000));
    assert_eq!(keeper.read(at(0, 3)).now, seconds(5000));
    assert_eq!(keeper.read(at(1, 4)).now, seconds(5001));
    // Downtime is believed: nothing else is known.
    let mut keeper = Timekeeper::resume(seconds(5000));
    assert_eq!(keeper.read(at(900_000, 3)).now, seconds(900_000));
}

#[test]
fn a_jump_ahead_is_an_alarm_until_it_is_confirmed_or_comes_back() {
    let mut keeper = Timekeeper::resume(seconds(0));
    keeper.read(at(1000, 0));
    let limit = MAX_STEP_AHEAD.as_nanos() / 1_000_000_000;
    assert_eq!(keeper.read(at(1000 + limit, 0)).alarm, None);
    let mut keeper = Timekeeper::resume(seconds(0));
    keeper.read(at(1000, 0));
    let reading = keeper.read(at(1000 + limit + 11, 10));
    let ahead_by = Duration::from_seconds(limit + 1);
    assert_eq!((reading.now, reading.alarm), (seconds(1010), Some(Alarm { ahead_by })));
    // It stays: looking again is not believing.
    let reading = keeper.read(at(1000 + limit + 21, 20));
    assert_eq!((reading.now, reading.alarm), (seconds(1020), Some(Alarm { ahead_by })));
    let mut confirmed = keeper.clone();
    assert_eq!(confirmed.confirm(at(9000, 21)).now, seconds(9000));
    assert_eq!(confirmed.read(at(9001, 22)).alarm, None);
    let reading = keeper.read(at(1030, 30));
    assert_eq!((reading.now, reading.alarm), (seconds(1030), None));
}

#[test]
fn confirming_does_not_go_back_either() {
    let mut keeper = Timekeeper::resume(seconds(0));
    keeper.read(at(1000, 0));
    assert_eq!(keeper.confirm(at(10, 1)).now, seconds(1000));
}

proptest! {
    #[test]
    fn time_never_runs_backwards_and_never_stands_still_for_ever(
        steps in prop::collection::vec((-2000..2000_i64, 0..500_i64), 1..50)
    ) {
        let mut keeper = Timekeeper::resume(seconds(0));
        let (mut wall, mut monotonic) = (100_000, 0);
        let mut before = keeper.read(at(wall, monotonic)).now;
        for (step, passed) in steps {
            wall += passed + step;
            monotonic += passed;
            let now = keeper.read(at(wall, monotonic)).now;
            prop_assert!(now >= before);
            // Never further ahead than the time that passed and one step that is believed.
            let most = Duration::from_seconds(passed + 300);
            prop_assert!(now.since(before) <= most);
            before = now;
        }
        // A wall clock that stays far behind does not hold promises for ever.
        let later = keeper.read(at(0, monotonic + 1000)).now;
        prop_assert_eq!(later.since(before), Duration::from_seconds(1000));
    }
}
