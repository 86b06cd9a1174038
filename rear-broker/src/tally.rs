//! How much each caller has of something that all of them share: connections, streams of events, requests that wait for
//! the ledger.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is taken at the moment, and by whom. No larger than that.
#[derive(Debug)]
pub struct Tally<K>(Mutex<Counts<K>>);

#[derive(Debug)]
struct Counts<K> {
    each: HashMap<K, usize>,
    all: usize,
}

/// One more, until it is dropped.
#[derive(Debug)]
pub struct Taken<K: Eq + Hash> {
    tally: Arc<Tally<K>>,
    by: K,
    amount: usize,
    /// How many its caller had then, with this one.
    pub own: usize,
    /// How many all had then.
    pub all: usize,
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self(Mutex::new(Counts { each: HashMap::new(), all: 0 }))
    }
}

impl<K: Eq + Hash> Tally<K> {
    /// One more for this caller. Whether that is too much is for whoever asked to say.
    pub fn take(self: &Arc<Self>, by: K) -> Taken<K>
    where
        K: Clone,
    {
        self.take_many(by, 1)
    }

    /// So many more.
    pub fn take_many(self: &Arc<Self>, by: K, amount: usize) -> Taken<K>
    where
        K: Clone,
    {
        let mut counts = self.lock();
        counts.all += amount;
        let all = counts.all;
        let own = counts.each.entry(by.clone()).or_default();
        *own += amount;
        let own = *own;
        drop(counts);
        Taken { tally: self.clone(), by, amount, own, all }
    }

    fn lock(&self) -> MutexGuard<'_, Counts<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Taken<K> {
    fn drop(&mut self) {
        let mut counts = self.tally.lock();
        counts.all -= self.amount;
        if let Some(own) = counts.each.get_mut(&self.by) {
            *own -= self.amount;
            if *own == 0 {
                counts.each.remove(&self.by);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_is_counted_and_all_of_them() {
        let tally = Arc::new(Tally::default());
        let first = tally.take("rome");
        let second = tally.take("rome");
        let other = tally.take("oslo");
        assert_eq!([first.own, second.own, other.own], [1, 2, 1]);
        assert_eq!([first.all, second.all, other.all], [1, 2, 3]);
        drop(first);
        let again = tally.take("rome");
        assert_eq!((again.own, again.all), (2, 3));
    }

    #[test]
    fn whoever_has_given_everything_back_is_forgotten() {
        let tally = Arc::new(Tally::default());
        drop([tally.take("rome"), tally.take("rome"), tally.take("oslo")]);
        assert!(tally.lock().each.is_empty());
        assert_eq!(tally.lock().all, 0);
    }
}
