//! How long to wait after failures: longer each time, and not all agents at once.

use std::time::Duration;

use crate::error::Error;
use crate::jitter::jittered;

/// The longest pause in first pauses: half a minute with the default of five seconds, so that a broker which comes back
/// sees its agents again before it takes them for gone.
const LONGEST: u32 = 6;

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
        error.retry_after().unwrap_or_default().max(jittered(pause))
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
        let retry_after = Some(SECOND * 100);
        let busy = Error::Busy { detail: String::new(), retry_after };
        assert_eq!(Backoff::new(SECOND).failed(&busy), SECOND * 100);
    }
}
