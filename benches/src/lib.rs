//! What the benchmarks share: timing within criterion, and ratios to a raw limit of the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times of single operations, in nanoseconds.
#[derive(Debug, Default)]
pub struct Times(Vec<u64>);

impl Times {
    /// Runs and times one operation.
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> (T, Duration) {
        // Measuring time is what a benchmark is for.
        #[allow(clippy::disallowed_methods)]
        let start = Instant::now();
        let result = black_box(operation());
        let elapsed = start.elapsed();
        self.push(elapsed);
        (result, elapsed)
    }

    /// Adds a time that was measured elsewhere.
    pub fn push(&mut self, time: Duration) {
        self.0.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time that this share of the operations did not exceed, in nanoseconds.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> u64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let position = sorted.len().saturating_sub(1) * percent / 100;
        sorted.get(position).copied().unwrap_or_default()
    }
}

/// The raw limit of a scan: summing as many bytes as it must read.
#[derive(Debug)]
pub struct Sum(Vec<u64>);

impl Sum {
    /// Eight bytes for each cluster and dimension.
    #[must_use]
    pub fn new(clusters: usize, dimensions: usize) -> Self {
        Self((0..).take(clusters * dimensions).collect())
    }

    /// Sums once, and says how long it took.
    pub fn sum(&mut self) -> Duration {
        let numbers = black_box(&self.0);
        Times::default().time(|| numbers.iter().copied().fold(0_u64, u64::wrapping_add)).1
    }
}
