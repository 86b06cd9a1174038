//! Chance in pauses, so that clients that failed together do not come back together.

use std::time::Duration;

/// Between half of a pause and all of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let thousandths = u32::try_from(uuid::Uuid::new_v4().as_u128() % 501).unwrap_or(0);
    pause * (500 + thousandths) / 1000
}
