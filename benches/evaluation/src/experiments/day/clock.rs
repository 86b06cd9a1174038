//! Clocks that are set by hand.

use std::sync::{Arc, Mutex, PoisonError};

use rear_engine::{Duration, Timestamp};
use rear_store::clock::Clock;
use rear_store::timekeeper::Clocks;

/// Both clocks of the simulated machine, in seconds.
#[derive(Debug, Clone)]
pub(super) struct Hands(Arc<Mutex<(i64, i64)>>);

impl Hands {
    pub(super) fn start() -> Self {
        Self(Arc::new(Mutex::new((1_800_000_000, 0))))
    }

    /// Time goes on.
    pub(super) fn pass(&self, seconds: i64) {
        let mut hands = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *hands = (hands.0 + seconds, hands.1 + seconds);
    }

    /// Someone sets the wall clock.
    pub(super) fn set_by(&self, seconds: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 += seconds;
    }
}

impl Clock for Hands {
    fn read(&self) -> Clocks {
        let (wall, monotonic) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Clocks { wall: Timestamp::from_seconds(wall), monotonic: Duration::from_seconds(monotonic) }
    }
}
