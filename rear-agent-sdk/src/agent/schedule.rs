//! When to publish without a change.

use std::time::Duration;

use rear_engine::Timestamp;

/// Every minute at :00 and :30, as people expect to see it.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// When the state of a cluster is published although nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    every: Duration,
    aligned: bool,
}

impl Schedule {
    /// At the multiples of a period by the clock: for 30 s, at :00 and :30 of every minute.
    #[must_use]
    pub const fn aligned(every: Duration) -> Self {
        Self { every, aligned: true }
    }

    /// A period after the last time, shortened at random by up to a tenth: so that ten thousand agents do not publish
    /// in the same second.
    #[must_use]
    pub const fn jittered(every: Duration) -> Self {
        Self { every, aligned: false }
    }

    /// How long it is until the next time; `chance` is any number.
    #[must_use]
    pub fn until_next(self, now: Timestamp, chance: u64) -> Duration {
        let every = u64::try_from(self.every.as_nanos()).unwrap_or(u64::MAX).max(1);
        let passed = if self.aligned {
            u64::try_from(now.as_nanos()).unwrap_or(0) % every
        } else {
            chance % (every / 10).max(1)
        };
        Duration::from_nanos(every - passed)
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::aligned(HALF_A_MINUTE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_times_are_multiples_of_the_period() {
        let schedule = Schedule::default();
        for (second, seconds) in [(0, 30), (1, 29), (29, 1), (30, 30), (45, 15)] {
            let wait = schedule.until_next(Timestamp::from_seconds(600 + second), 7);
            assert_eq!(wait, Duration::from_secs(seconds), "{second}");
        }
    }

    #[test]
    fn jitter_shortens_by_a_tenth_at_most() {
        let schedule = Schedule::jittered(Duration::from_secs(10));
        for chance in [0, 1, 999_999_999, u64::MAX] {
            let wait = schedule.until_next(Timestamp::from_seconds(3), chance);
            assert!(wait > Duration::from_secs(9) && wait <= Duration::from_secs(10), "{wait:?}");
        }
    }
}
