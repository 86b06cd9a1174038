//! How a number is distributed: how often it was at most so large, and the sum of all.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts numbers by size.
#[derive(Debug)]
pub(crate) struct Distribution {
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distributed {
    /// How many were at most so large and larger than the bound before; `None` is without a bound.
    pub buckets: Vec<(Option<u64>, u64)>,
    /// Of all of them.
    pub sum: u64,
}

impl Distribution {
    pub(crate) fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, number: u64) {
        let place = self.bounds.partition_point(|bound| *bound < number);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Distributed {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        Distributed { buckets: bounds.zip(counts).collect(), sum: self.sum.load(Ordering::Relaxed) }
    }
}

impl Distributed {
    /// How many numbers there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_at_the_first_bound_that_is_not_below_them() {
        let distribution = Distribution::new(&[1, 10]);
        for number in [0, 1, 2, 10, 11, 100] {
            distribution.add(number);
        }
        let read = distribution.read();
        assert_eq!(read.buckets, [(Some(1), 2), (Some(10), 2), (None, 2)]);
        assert_eq!((read.sum, read.count()), (124, 6));
    }
}
