//! What several brokers agree on, without a network: entries in a chain, who has won a place, what time it is.

use proptest::prelude::*;
use rear_engine::{Duration, Fleet, Timestamp};
use rear_store::records::entry::{EntryRecord, SCHEMA};
use rear_store::records::head::{open_head, seal_head};
use rear_store::shared::{
    BatchId, Entry, EntryError, Fork, Head, Place, SLACK, Seen, SharedTime, agreed_schema, hash_of,
    judge_head, judge_place,
};
use rear_store::timekeeper::Clocks;
use rear_store::{Batch, Position};

use super::history::History;

fn at(number: u64) -> Position {
    Position { incarnation: 1, number }
}

fn head(number: u64, hash: u128) -> Head {
    Head { ledger: 7, position: at(number), hash, time_mark: seconds(100) }
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn of(sequence: u64) -> BatchId {
    BatchId { broker: 1, sequence }
}

/// What must be durable of a batch.
fn durable(batch: &Batch) -> Batch {
    let mut batch = batch.clone();
    batch.changes.retain(rear_engine::Change::is_durable);
    batch
}

#[test]
fn an_entry_holds_all_that_must_be_durable_of_a_batch() {
    for seed in 0..8 {
        let mut history = History::new(seed);
        let mut head = head(0, 0);
        for _ in 0..40 {
            let batch = history.next_batch();
            let (bytes, after) = Entry::seal(&head, of(3), &batch).unwrap();
            let entry = Entry::open_next(&head, &bytes).unwrap();
            assert_eq!(entry.batch, durable(&batch));
            assert_eq!((entry.head, entry.id), (after, of(3)));
            head = after;
        }
    }
}

/// All that can be asked of a fleet, in order.
fn told(fleet: &Fleet) -> String {
    let mut clusters: Vec<String> = fleet
        .clusters()
        .map(|kept| {
            let promised: Vec<_> = fleet.live_of_provider(&kept.record().id).collect();
            format!("{:?} {:?} {promised:?}", kept.record(), kept.available())
        })
        .collect();
    let mut reservations: Vec<String> = fleet
        .reservations()
        .map(|kept| {
            let key = kept.key.as_ref();
            let found = key.and_then(|key| fleet.reservation_by_key(kept.requester(), key));
            let made = fleet.reservations_of(kept.requester());
            format!("{kept:?} {:?} of {made}", found.map(|found| found.id))
        })
        .collect();
    clusters.sort();
    reservations.sort();
    format!("{clusters:#?} {reservations:#?} {:?}", fleet.next_due())
}

#[test]
fn what_was_decided_and_lost_is_forgotten_without_a_trace() {
    for seed in 0..8 {
        let mut history = History::new(seed);
        for _ in 0..40 {
            let mut fleet = history.fleet.clone();
            let before = told(&fleet);
            let batch = history.next_batch();
            let mut undo = Vec::new();
            for change in batch.changes.clone() {
                undo.push(fleet.before(&change));
                fleet.apply(change).unwrap();
            }
            assert_eq!(told(&fleet), told(&history.fleet));
            assert!(fleet.take_back(undo));
            assert_eq!(told(&fleet), before);
            // And can be decided again.
            batch.changes.iter().for_each(|change| fleet.apply(change.clone()).unwrap());
            assert_eq!(told(&fleet), told(&history.fleet));
        }
    }
}

#[test]
fn only_the_entry_that_comes_next_can_be_read() {
    let batch = History::new(1).next_batch();
    let (bytes, after) = Entry::seal(&head(0, 5), of(1), &batch).unwrap();
    let other_chain = Entry::open_next(&head(0, 6), &bytes).unwrap_err();
    assert!(matches!(other_chain, EntryError::Unlinked { .. }), "{other_chain}");
    let other_ledger = Entry::open_next(&Head { ledger: 8, ..head(0, 5) }, &bytes).unwrap_err();
    assert!(matches!(other_ledger, EntryError::OtherLedger { .. }), "{other_ledger}");
    // Its position is part of its seal.
    let other_place = Entry::open_next(&after, &bytes).unwrap_err();
    assert!(matches!(other_place, EntryError::Sealed { .. }), "{other_place}");
}

/// An entry with the next schema, sealed as the next program would.
pub(crate) fn of_the_next_program(mut bytes: Vec<u8>, position: Position) -> Vec<u8> {
    use std::hash::Hasher;
    bytes[1] = 2;
    let key = [position.incarnation.to_be_bytes(), position.number.to_be_bytes()].concat();
    let mut hasher = twox_hash::XxHash3_64::with_seed(0);
    let header = [bytes[0], bytes[1]];
    for field in [&b"journal"[..], &key, &header, &bytes[10..]] {
        hasher.write(&(field.len() as u64).to_le_bytes());
        hasher.write(field);
    }
    bytes[2..10].copy_from_slice(&hasher.finish().to_le_bytes());
    bytes
}

#[test]
fn an_entry_of_a_newer_program_is_named_as_such() {
    let batch = History::new(1).next_batch();
    let (bytes, _) = Entry::seal(&head(0, 0), of(1), &batch).unwrap();
    let bytes = of_the_next_program(bytes, batch.position);
    let refused = Entry::open_next(&head(0, 0), &bytes).unwrap_err();
    assert!(matches!(refused, EntryError::Newer { schema: 2, .. }), "{refused}");
    assert!(refused.to_string().contains("newer version"), "{refused}");
}

#[test]
fn the_same_head_has_the_same_bytes() {
    let one = head(41, u128::MAX / 3);
    assert_eq!(seal_head(&one).unwrap(), seal_head(&one.clone()).unwrap());
    assert_eq!(open_head(&seal_head(&one).unwrap()).unwrap(), one);
}

#[test]
fn nobody_writes_what_someone_cannot_read() {
    assert_eq!(agreed_schema(3, []), 3);
    assert_eq!(agreed_schema(3, [3, 2, 4]), 2);
}

#[test]
fn a_journal_that_went_back_is_told_from_one_that_went_on() {
    let applied = head(10, 5);
    assert_eq!(judge_head(&applied, Some(&head(10, 5))), Ok(Seen::Current));
    assert_eq!(judge_head(&applied, Some(&head(12, 9))), Ok(Seen::More(at(12))));
    let back = judge_head(&applied, Some(&head(9, 4))).unwrap_err();
    assert_eq!(back, Fork::WentBack { followed: at(10), found: at(9) });
    assert_eq!(judge_head(&applied, Some(&head(10, 6))), Err(Fork::OtherEntry(at(10))));
    assert_eq!(judge_head(&applied, None), Err(Fork::Gone(at(10))));
    let other = Head { ledger: 8, ..head(10, 5) };
    assert!(matches!(judge_head(&applied, Some(&other)), Err(Fork::OtherLedger { .. })));
}

#[test]
fn whose_entry_is_in_a_place_is_told_by_its_bytes() {
    let (applied, mine) = (head(10, 5), b"mine");
    let moved = head(13, 9);
    let place = |bytes| judge_place(&applied, hash_of(mine), Some(&moved), bytes);
    assert_eq!(place(Some(mine.as_slice())), Ok(Place::Mine));
    assert_eq!(place(Some(b"theirs".as_slice())), Ok(Place::Theirs));
    assert_eq!(place(None), Ok(Place::Trimmed));
}

#[test]
fn the_same_batch_of_two_brokers_is_two_entries() {
    let batch = History::new(2).next_batch();
    let seal =
        |broker| EntryRecord::of(&batch, 7, 0, broker, 1).seal(batch.position, SCHEMA).unwrap();
    assert_ne!(hash_of(&seal(1)), hash_of(&seal(2)));
}

/// What a broker's clocks show.
fn clocks(wall: i64, monotonic: i64) -> Clocks {
    Clocks { wall: seconds(wall), monotonic: Duration::from_seconds(monotonic) }
}

#[test]
fn a_clock_that_jumps_is_not_believed_and_believed_again_when_it_is_back() {
    let mut time = SharedTime::among_others(seconds(1000), clocks(1001, 0));
    assert_eq!(time.read(clocks(1001, 0)).alarm, None);
    assert!(time.is_settled());
    time.follow(seconds(1002), clocks(1002, 1));
    let jumped = time.read(clocks(1_000_000, 2));
    assert!(jumped.alarm.is_some());
    assert_eq!(jumped.now, seconds(1003), "it goes on by what is expected");
    assert_eq!(time.read(clocks(1004, 3)).alarm, None, "it came back");
}

#[test]
fn a_clock_that_jumps_back_is_told_and_holds_up_nothing() {
    let mut time = SharedTime::alone(seconds(1000));
    time.read(clocks(1000, 0));
    let behind = time.read(clocks(900, 1));
    assert!(behind.alarm.unwrap().ahead_by.as_nanos() < 0);
    assert_eq!(behind.now, seconds(1001));
}

#[test]
fn a_machine_that_slept_is_right_again_by_the_word_of_an_administrator() {
    let mut time = SharedTime::alone(seconds(1000));
    time.read(clocks(1000, 0));
    assert!(time.read(clocks(4600, 1)).alarm.is_some(), "its monotonic clock slept as well");
    time.follow(seconds(4601), clocks(4602, 3));
    assert!(time.read(clocks(4602, 3)).alarm.is_some(), "others may say what it made them say");
    assert_eq!(time.confirm(clocks(4603, 4)).alarm, None);
}

#[test]
fn an_entry_that_was_on_its_way_for_long_alarms_nobody() {
    let mut time = SharedTime::alone(seconds(1000));
    time.read(clocks(1000, 0));
    time.follow(seconds(1001), clocks(1060, 60));
    let reading = time.read(clocks(1060, 60));
    assert_eq!((reading.now, reading.alarm), (seconds(1060), None));
}

#[test]
fn the_first_to_come_believes_its_clock_and_time_does_not_go_back() {
    let mut time = SharedTime::alone(seconds(1000));
    assert_eq!(time.read(clocks(5000, 0)).now, seconds(5000));
    let mut behind = SharedTime::alone(seconds(1000));
    assert_eq!(behind.read(clocks(900, 0)).now, seconds(1000));
    assert_eq!(behind.read(clocks(901, 1)).now, seconds(1001));
}

#[test]
fn a_newcomer_whose_clock_is_wrong_is_told_until_its_company_is_gone() {
    let mut time = SharedTime::among_others(seconds(1000), clocks(9000, 0));
    assert!(time.read(clocks(9000, 0)).alarm.is_some());
    time.follow(seconds(1005), clocks(9005, 5));
    assert!(time.read(clocks(9006, 6)).alarm.is_some() && !time.is_settled());
    time.left_alone();
    assert_eq!(time.read(clocks(9007, 7)).alarm, None);
}

proptest! {
    /// Three brokers, one of them with a clock that does what it wants: the others are never dragged along.
    #[test]
    fn one_wild_clock_moves_the_journal_by_no_more_than_the_slack(
        steps in prop::collection::vec(
            (0..3_usize, 0..4_i64, prop_oneof![-6..6_i64, -10_000..10_000_i64]), 1..200
        )
    ) {
        let mut true_time = 1_000_i64;
        let mut journal = seconds(true_time);
        let mut wild = 0_i64;
        let mut brokers =
            [0, 1, 2].map(|_| SharedTime::among_others(journal, clocks(true_time, 0)));
        for broker in &mut brokers {
            broker.read(clocks(true_time, 0));
        }
        for (who, passed, jump) in steps {
            true_time += passed;
            if who == 0 {
                wild += jump;
            }
            let wall_of = |who: usize| if who == 0 { true_time + wild } else { true_time };
            let reading = brokers[who].read(clocks(wall_of(who), true_time - 1_000));
            prop_assert!(reading.now >= journal, "time never runs backwards");
            prop_assert!(who == 0 || reading.alarm.is_none(), "the others go on");
            journal = reading.now;
            for (other, keeper) in brokers.iter_mut().enumerate() {
                if other != who {
                    keeper.follow(journal, clocks(wall_of(other), true_time - 1_000));
                }
            }
            let ahead = journal.since(seconds(true_time)).as_nanos();
            prop_assert!(ahead <= 2 * SLACK.as_nanos(), "dragged along by {ahead}");
        }
    }
}
