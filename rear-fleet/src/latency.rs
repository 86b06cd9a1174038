//! How long operations took: counted in classes, so that a fleet that runs for days needs no more memory than one
//! that runs for seconds.

use std::fmt;
use std::time::Duration;

/// Each doubling of time has so many classes: a percentile is at most 3 % above what was measured.
const CLASSES: u64 = 32;
const CLASS_BITS: u32 = CLASSES.ilog2();

/// Times of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    counts: Vec<u64>,
    count: u64,
    max: Duration,
}

impl Latencies {
    /// Adds one.
    pub fn record(&mut self, took: Duration) {
        let class = class_of(micros(took));
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.count += 1;
        self.max = self.max.max(took);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.max
    }

    /// What so many of a hundred did not exceed; zero if there are none.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut latencies = rear_fleet::Latencies::default();
    /// (1..=100).for_each(|ms| latencies.record(Duration::from_millis(ms)));
    /// let p50 = latencies.percentile(50);
    /// assert!(p50 >= Duration::from_millis(50) && p50 < Duration::from_millis(52));
    /// ```
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Duration {
        let rank = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        for (class, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_micros(top_of(class)).min(self.max);
            }
        }
        Duration::ZERO
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p95, p99] = [50, 95, 99].map(|percent| Millis(self.percentile(percent)));
        let (count, max) = (self.count, Millis(self.max));
        write!(f, "{count:>9} times  p50 {p50}  p95 {p95}  p99 {p99}  max {max}")
    }
}

/// A time in milliseconds, with as many digits as matter.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.2} ms", self.0.as_secs_f64() * 1000.0)
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// The first classes have a microsecond each; after that, each doubling is cut into as many.
fn class_of(micros: u64) -> usize {
    if micros < CLASSES {
        return usize::try_from(micros).unwrap_or(0);
    }
    let doubling = micros.ilog2() - CLASS_BITS;
    let class = u64::from(doubling + 1) * CLASSES + (micros >> doubling) - CLASSES;
    usize::try_from(class).unwrap_or(usize::MAX)
}

/// The longest time of a class, in microseconds.
fn top_of(class: usize) -> u64 {
    let class = u64::try_from(class).unwrap_or(u64::MAX);
    if class < CLASSES {
        return class;
    }
    let doubling = class / CLASSES - 1;
    ((class % CLASSES + CLASSES + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_says_and_is_narrow() {
        for micros in [0, 1, 31, 32, 33, 63, 64, 65, 1000, 123_456, 987_654_321] {
            let top = top_of(class_of(micros));
            assert!(top >= micros && top <= micros + micros / 31, "{micros}: {top}");
            assert_eq!(class_of(top), class_of(micros));
            assert_eq!(class_of(top + 1), class_of(micros) + 1);
        }
    }

    #[test]
    fn two_halves_merged_are_the_whole() {
        let (mut whole, mut left, mut right) =
            (Latencies::default(), Latencies::default(), Latencies::default());
        for micros in (0..100_000).step_by(7) {
            let took = Duration::from_micros(micros);
            whole.record(took);
            if micros % 2 == 0 { left.record(took) } else { right.record(took) }
        }
        left.merge(&right);
        assert_eq!(left, whole);
        assert_eq!(left.percentile(100), left.max());
    }
}
