//! When to try again: a bounded number of times, later each time, and not all clients at once.

use std::time::Duration;

use crate::error::Error;
use crate::jitter::jittered;

/// How often one operation is tried.
const ATTEMPTS: u32 = 4;

/// The pause after the first attempt; doubled after each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Whoever has to wait longer is told so, with the time, instead of being held.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The pause before the next attempt, if there should be one; `attempt` counts from 0.
pub(super) fn pause_after(error: &Error, attempt: u32) -> Option<Duration> {
    if !error.is_transient() || attempt + 1 >= ATTEMPTS {
        return None;
    }
    match error.retry_after() {
        Some(wanted) if wanted > LONGEST_PAUSE => None,
        Some(wanted) => Some(wanted + jittered(FIRST_PAUSE)),
        None => Some(jittered(FIRST_PAUSE * 2_u32.pow(attempt))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> Error {
        let retry_after = Some(Duration::from_secs(seconds));
        Error::Busy { detail: String::new(), retry_after }
    }

    #[test]
    fn what_is_not_transient_is_not_tried_again() {
        assert_eq!(pause_after(&Error::Restored, 0), None);
    }

    #[test]
    fn pauses_grow_and_attempts_end() {
        let late = Error::TimedOut { seconds: 1 };
        for (attempt, longest) in [(0, 250), (1, 500), (2, 1000)] {
            let pause = pause_after(&late, attempt).unwrap();
            let longest = Duration::from_millis(longest);
            assert!((longest / 2..=longest).contains(&pause), "{attempt}: {pause:?}");
        }
        assert_eq!(pause_after(&late, 3), None);
    }

    #[test]
    fn the_brokers_own_wish_counts_unless_it_is_too_long() {
        assert!(pause_after(&busy(7), 0).unwrap() >= Duration::from_secs(7));
        assert!(pause_after(&busy(30), 0).is_some());
        assert_eq!(pause_after(&busy(31), 0), None);
    }
}
