//! How long to wait after failures: longer each time, and not all agents at once.

use std::time::Duration;

use crate::error::Error;
use crate::jitter::jittered;

/// The longest pause in first pauses: half a minute with the default of five seconds, so that a broker which comes back
/// sees its agents again before it takes them for gone.
const LONGEST: u32 = 6;

/// A pause that is wanted is not longer than this. It may have been a page for maintenance that stood before the broker, which
/// is back sooner, and takes those for gone whom it has not heard of for ten minutes.
const LONGEST_WISH: Duration = Duration::from_mins(5);

pub(super) struct Backoff {
    first: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(first: Duration) -> Self {
        Self { first, next: first }
    }

    /// The pause after one more failure: as long as the broker wants, else longer than the last one.
    pub(super) fn failed(&mut self, error: &Error) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.first * LONGEST);
        error.retry_after().unwrap_or_default().min(LONGEST_WISH).max(jittered(pause))
    }

    /// It works again.
    pub(super) fn worked(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_grow_to_a_limit_and_start_anew_when_it_works() {
        let late = Error::TimedOut { seconds: 1 };
        let mut backoff = Backoff::new(SECOND);
        for longest in [1, 2, 4, 6, 6] {
            let (pause, longest) = (backoff.failed(&late), SECOND * longest);
            assert!((longest / 2..=longest).contains(&pause), "{longest:?}: {pause:?}");
        }
        backoff.worked();
        assert!(backoff.failed(&late) <= SECOND);
    }

    #[test]
    fn the_brokers_own_wish_counts() {
        let pause = |wanted: Duration| {
            let (detail, retry_after) = (String::new(), Some(wanted));
            Backoff::new(SECOND).failed(&Error::Busy { detail, retry_after })
        };
        assert_eq!(pause(SECOND * 100), SECOND * 100);
        // Unless nobody would hear of it for too long.
        assert_eq!(pause(Duration::MAX), LONGEST_WISH);
    }
}
