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
///
/// The loop is there eight times, and the sums are taken with one after the other: where the compiler happens to place a loop in
/// the program decides about a third of its time, and another build would have another limit.
#[derive(Debug)]
pub struct Sum {
    numbers: Vec<u64>,
    times: [Times; COPIES.len()],
    turn: usize,
}

type Loop = fn(&[u64]) -> u64;

const COPIES: [Loop; 8] = [
    plain::<0>, plain::<1>, plain::<2>, plain::<3>, plain::<4>, plain::<5>, plain::<6>, plain::<7>,
];

/// Places its loop further into the program the higher the number, and keeps the compiler from seeing that all are the same.
#[inline(never)]
fn plain<const NUMBER: usize>(numbers: &[u64]) -> u64 {
    for step in 0..NUMBER {
        black_box(step);
    }
    numbers.iter().copied().fold(0_u64, u64::wrapping_add)
}

impl Sum {
    /// Eight bytes for each cluster and dimension.
    #[must_use]
    pub fn new(clusters: usize, dimensions: usize) -> Self {
        let numbers = (0..).take(clusters * dimensions).collect();
        Self { numbers, times: Default::default(), turn: 0 }
    }

    /// Sums once.
    pub fn sum(&mut self) {
        let numbers = black_box(&self.numbers);
        self.times[self.turn].time(|| COPIES[self.turn](numbers));
        self.turn = (self.turn + 1) % COPIES.len();
    }

    /// How long a sum takes, in nanoseconds: the mean of what half of the sums of each loop did not exceed.
    #[must_use]
    pub fn limit(&self) -> u64 {
        let each = self.times.iter().map(|times| times.percentile(50));
        each.sum::<u64>() / COPIES.len() as u64
    }

    /// The shortest and the longest such time of a loop.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let each = || self.times.iter().map(|times| times.percentile(50));
        (each().min().unwrap_or_default(), each().max().unwrap_or_default())
    }
}
