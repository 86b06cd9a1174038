//! The one place that reads the clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rear_engine::{Duration, Timestamp};

use crate::timekeeper::Clocks;

/// Where the time comes from.
pub trait Clock: Send + 'static {
    /// What both clocks show.
    fn read(&self) -> Clocks;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        // The one place.
        #[allow(clippy::disallowed_methods)]
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn read(&self) -> Clocks {
        // First: if the process is held up in between, the wall clock seems to jump for one reading. The
        // other way round it would seem to have jumped for ever.
        let monotonic = Duration::from_nanos(saturated(self.started.elapsed().as_nanos()));
        // The one place.
        #[allow(clippy::disallowed_methods)]
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        // A clock before 1970 is far behind whatever was promised, which is all that matters of it.
        let wall = since_1970.map_or(0, |span| saturated(span.as_nanos()));
        Clocks { wall: Timestamp::from_nanos(wall), monotonic }
    }
}

fn saturated(nanos: u128) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
