//! What is to be looked at: each thing once, never twice at the same time, and again later if it could not be done.
//!
//! Whoever waits for an answer goes first: what is left to be told to others waits while answers are under way, but not
//! for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rear_engine::{ClusterId, ReservationId};
use tokio::time::Instant;

/// Something to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// A cluster and the objects that speak of it.
    Cluster(ClusterId),
    /// A reservation and its objects.
    Reservation(ReservationId),
}

/// How much is done about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Whoever has asked is answered.
    Answer,
    /// And everyone else is told.
    Rest,
}

/// What is left after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Everything is as it should be.
    Nothing,
    /// Others are to be told.
    Rest,
}

/// Keys that wait, those that are being worked on, and those that wait for a time.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<Key>,
    waiting: BTreeSet<Key>,
    /// What others are to be told, and since when that waits.
    rest: VecDeque<(Key, Instant)>,
    resting: BTreeSet<Key>,
    running: BTreeMap<Key, Turn>,
    again: BTreeSet<Key>,
    later: BTreeSet<(Instant, Key)>,
    /// How often each has failed in a row.
    failures: BTreeMap<Key, u32>,
}

/// The first pause after a failure; each one that follows is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest: whoever repaired the cause should not wait for long.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How many answers are under way at once: an API server does so many writes side by side, more would only wait there, and
/// each needs a connection.
const ANSWERS_AT_ONCE: usize = 16;

/// How many others are told at once: few enough that an answer which comes in between is not behind many of them.
const RESTS_AT_ONCE: usize = 8;

/// How long others wait for those who wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

impl Queue {
    /// It should be looked at.
    pub(super) fn push(&mut self, key: Key) {
        if self.running.contains_key(&key) {
            self.again.insert(key);
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// The next one, and how much of it; it runs until it is [done](Self::done).
    pub(super) fn next(&mut self, now: Instant) -> Option<(Key, Turn)> {
        while let Some((at, _)) = self.later.first()
            && *at <= now
            && let Some((_, key)) = self.later.pop_first()
        {
            self.push(key);
        }
        let (key, turn) = self.next_answer().or_else(|| self.next_rest(now))?;
        self.running.insert(key.clone(), turn);
        Some((key, turn))
    }

    fn next_answer(&mut self) -> Option<(Key, Turn)> {
        if self.under_way(Turn::Answer) >= ANSWERS_AT_ONCE {
            return None;
        }
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        Some((key, Turn::Answer))
    }

    fn next_rest(&mut self, now: Instant) -> Option<(Key, Turn)> {
        let nobody_waits = self.ready.is_empty() && self.under_way(Turn::Answer) == 0;
        let oldest = self.rest.front().map(|(_, since)| *since);
        let is_overdue = oldest.is_some_and(|since| now.duration_since(since) >= PATIENCE);
        if !(nobody_waits || is_overdue) || self.under_way(Turn::Rest) >= RESTS_AT_ONCE {
            return None;
        }
        let place = self.rest.iter().position(|(key, _)| !self.running.contains_key(key))?;
        let (key, _) = self.rest.remove(place)?;
        self.resting.remove(&key);
        Some((key, Turn::Rest))
    }

    fn under_way(&self, turn: Turn) -> usize {
        self.running.values().filter(|running| **running == turn).count()
    }

    /// It has been looked at: what is left of it, or nothing is known if that failed.
    pub(super) fn done(&mut self, key: Key, left: Option<Left>, now: Instant) {
        self.running.remove(&key);
        match left {
            Some(Left::Nothing) => drop(self.failures.remove(&key)),
            // What failed before is still to be done.
            Some(Left::Rest) => {
                if self.resting.insert(key.clone()) {
                    self.rest.push_back((key.clone(), now));
                }
            }
            None => {
                let failed = self.failures.entry(key.clone()).or_default();
                let pause = FIRST_PAUSE.saturating_mul(1 << (*failed).min(8)).min(LONGEST_PAUSE);
                *failed += 1;
                self.later.insert((now + pause, key.clone()));
            }
        }
        if self.again.remove(&key) {
            self.push(key);
        }
    }

    /// When the next one that waits for a time is due.
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Key {
        Key::Reservation(ReservationId::from_bits(number))
    }

    fn answer(number: u128) -> (Key, Turn) {
        (key(number), Turn::Answer)
    }

    fn rest(number: u128) -> (Key, Turn) {
        (key(number), Turn::Rest)
    }

    #[test]
    fn one_that_runs_is_looked_at_once_more_however_often_it_changes() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.push(key(1));
        assert_eq!(queue.next(now), Some(answer(1)));
        queue.push(key(1));
        queue.push(key(1));
        assert_eq!(queue.next(now), None);
        queue.done(key(1), Some(Left::Nothing), now);
        assert_eq!(queue.next(now), Some(answer(1)));
        queue.done(key(1), Some(Left::Nothing), now);
        assert_eq!(queue.next(now), None);
    }

    #[test]
    fn what_failed_waits_longer_each_time_and_not_after_a_success() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.next(now).unwrap();
        queue.done(key(1), None, now);
        assert_eq!(queue.next(now), None);
        let first = queue.next_time().unwrap();
        assert_eq!(queue.next(first), Some(answer(1)));
        queue.done(key(1), None, first);
        assert_eq!(queue.next_time().unwrap() - first, FIRST_PAUSE * 2);
        let second = queue.next_time().unwrap();
        queue.next(second).unwrap();
        queue.done(key(1), Some(Left::Nothing), second);
        assert_eq!(queue.next_time(), None);
    }

    #[test]
    fn others_are_told_when_nobody_waits_for_an_answer() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (1..=2).for_each(|number| queue.push(key(number)));
        assert_eq!((queue.next(now), queue.next(now)), (Some(answer(1)), Some(answer(2))));
        queue.done(key(1), Some(Left::Rest), now);
        assert_eq!(queue.next(now), None, "the second is still to be answered");
        queue.done(key(2), Some(Left::Rest), now);
        assert_eq!((queue.next(now), queue.next(now)), (Some(rest(1)), Some(rest(2))));
    }

    #[test]
    fn others_wait_no_longer_than_patience_has_it() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (1..=2).for_each(|number| queue.push(key(number)));
        assert_eq!((queue.next(now), queue.next(now)), (Some(answer(1)), Some(answer(2))));
        queue.done(key(1), Some(Left::Rest), now);
        assert_eq!(queue.next(now + PATIENCE), Some(rest(1)));
    }

    #[test]
    fn a_rest_that_fails_again_and_again_waits_longer_each_time() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.next(now).unwrap();
        queue.done(key(1), Some(Left::Rest), now);
        assert_eq!(queue.next(now), Some(rest(1)));
        queue.done(key(1), None, now);
        let first = queue.next_time().unwrap();
        assert_eq!(queue.next(first), Some(answer(1)));
        queue.done(key(1), Some(Left::Rest), first);
        assert_eq!(queue.next(first), Some(rest(1)));
        queue.done(key(1), None, first);
        assert_eq!(queue.next_time().unwrap() - first, FIRST_PAUSE * 2);
    }

    #[test]
    fn one_that_is_answered_again_is_not_told_of_at_the_same_time() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.next(now).unwrap();
        queue.done(key(1), Some(Left::Rest), now);
        queue.push(key(1));
        assert_eq!(queue.next(now), Some(answer(1)));
        assert_eq!(queue.next(now + PATIENCE), None);
        queue.done(key(1), Some(Left::Rest), now);
        assert_eq!((queue.next(now), queue.next(now)), (Some(rest(1)), None));
    }

    #[test]
    fn no_more_are_under_way_than_an_api_server_does_side_by_side() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (0..40).for_each(|number| queue.push(key(number)));
        let all_that_may =
            |queue: &mut Queue| -> Vec<_> { std::iter::from_fn(|| queue.next(now)).collect() };
        let told = loop {
            let begun = all_that_may(&mut queue);
            if begun[0].1 == Turn::Rest {
                break begun;
            }
            assert!(begun.len() <= ANSWERS_AT_ONCE, "{begun:?}");
            for (key, _) in begun {
                queue.done(key, Some(Left::Rest), now);
            }
        };
        assert_eq!(told.len(), RESTS_AT_ONCE);
    }
}
