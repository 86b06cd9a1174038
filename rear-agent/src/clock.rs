//! The agent's time, as objects show it. The clock itself is read in the SDK.

use std::time::Duration;

use rear_agent_sdk::communicator::Timestamp;
use rear_api::moment;

const NANOS: i64 = 1_000_000_000;

/// The moment in whole seconds, as Kubernetes writes times.
#[must_use]
pub fn stamp(now: Timestamp) -> String {
    moment::text(Timestamp::from_seconds(now.as_nanos().div_euclid(NANOS)))
}

/// How long it is until then; nothing if it has passed or cannot be read.
#[must_use]
pub fn until(moment: &str, now: Timestamp) -> Option<Duration> {
    let left = moment::read(moment).ok()?.as_nanos().checked_sub(now.as_nanos())?;
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_nanos)
}

/// Whether it has passed. What cannot be read has not: to end something early is worse than to end it late.
#[must_use]
pub fn has_passed(moment: &str, now: Timestamp) -> bool {
    moment::read(moment).is_ok_and(|moment| moment <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_has_whole_seconds() {
        assert_eq!(stamp(Timestamp::from_nanos(1_999_999_999)), "1970-01-01T00:00:01Z");
    }

    #[test]
    fn what_is_over_has_no_time_left() {
        let now = Timestamp::from_seconds(10);
        assert_eq!(until("1970-01-01T00:00:12Z", now), Some(Duration::from_secs(2)));
        assert_eq!(until("1970-01-01T00:00:10Z", now), None);
        assert!(has_passed("1970-01-01T00:00:10Z", now));
        assert!(!has_passed("1970-01-01T00:00:11Z", now) && !has_passed("soon", now));
    }
}
