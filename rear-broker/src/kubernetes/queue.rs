//! What is to be looked at: each thing once, never twice at the same time, and again later if it could not be done.

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

/// Keys that wait, those that are being worked on, and those that wait for a time.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<Key>,
    waiting: BTreeSet<Key>,
    running: BTreeSet<Key>,
    again: BTreeSet<Key>,
    later: BTreeSet<(Instant, Key)>,
    /// How often each has failed in a row.
    failures: BTreeMap<Key, u32>,
}

/// The first pause after a failure; each one that follows is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest: whoever repaired the cause should not wait for long.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

impl Queue {
    /// It should be looked at.
    pub(super) fn push(&mut self, key: Key) {
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// The next one; it runs until it is [done](Self::done).
    pub(super) fn next(&mut self, now: Instant) -> Option<Key> {
        while let Some((at, _)) = self.later.first()
            && *at <= now
            && let Some((_, key)) = self.later.pop_first()
        {
            self.push(key);
        }
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// It has been looked at, with or without success.
    pub(super) fn done(&mut self, key: Key, worked: bool, now: Instant) {
        self.running.remove(&key);
        if worked {
            self.failures.remove(&key);
        } else {
            let failed = self.failures.entry(key.clone()).or_default();
            let pause = FIRST_PAUSE.saturating_mul(1 << (*failed).min(8)).min(LONGEST_PAUSE);
            *failed += 1;
            self.later.insert((now + pause, key.clone()));
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

    #[test]
    fn one_that_runs_is_looked_at_once_more_however_often_it_changes() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.push(key(1));
        assert_eq!(queue.next(now), Some(key(1)));
        queue.push(key(1));
        queue.push(key(1));
        assert_eq!(queue.next(now), None);
        queue.done(key(1), true, now);
        assert_eq!(queue.next(now), Some(key(1)));
        queue.done(key(1), true, now);
        assert_eq!(queue.next(now), None);
    }

    #[test]
    fn what_failed_waits_longer_each_time_and_not_after_a_success() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key(1));
        queue.next(now).unwrap();
        queue.done(key(1), false, now);
        assert_eq!(queue.next(now), None);
        let first = queue.next_time().unwrap();
        assert_eq!(queue.next(first), Some(key(1)));
        queue.done(key(1), false, first);
        assert_eq!(queue.next_time().unwrap() - first, FIRST_PAUSE * 2);
        let second = queue.next_time().unwrap();
        queue.next(second).unwrap();
        queue.done(key(1), true, second);
        assert_eq!(queue.next_time(), None);
    }
}
