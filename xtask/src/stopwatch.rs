//! Measures how long a step took; the one place of this program that reads the clock.

use std::fmt;
use std::time::{Duration, Instant};

/// Started once, read when the step is over.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this program")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Elapsed {
        Elapsed(self.0.elapsed())
    }
}

/// A measured time, shown in seconds with one decimal.
#[derive(Clone, Copy)]
pub(crate) struct Elapsed(pub(crate) Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", self.0.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_seconds_and_can_be_aligned() {
        let elapsed = Elapsed(Duration::from_millis(61_250));
        assert_eq!(elapsed.to_string(), "61.2 s");
        assert_eq!(format!("{elapsed:>9}"), "   61.2 s");
    }
}
