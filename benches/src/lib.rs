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
        self.0.push(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        (result, elapsed)
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

/// The raw limit of a scan: the time of summing as many bytes as it must read.
#[derive(Debug)]
pub struct Sum {
    numbers: Vec<u64>,
    times: Times,
}

impl Sum {
    /// Eight bytes for each cluster and dimension.
    #[must_use]
    pub fn new(clusters: usize, dimensions: usize) -> Self {
        Self { numbers: (0..).take(clusters * dimensions).collect(), times: Times::default() }
    }

    /// Sums once.
    pub fn sum(&mut self) {
        let numbers = &self.numbers;
        self.times.time(|| numbers.iter().copied().fold(0_u64, u64::wrapping_add));
    }

    /// The median in nanoseconds.
    #[must_use]
    pub fn p50(&self) -> u64 {
        self.times.percentile(50)
    }
}
