//! The one file of this crate that reads the clock.

use std::time::SystemTime;

use rear_engine::Timestamp;

/// The present moment by this machine's clock: what an advertisement is stamped with.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "an agent's clock is read here and nowhere else")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
