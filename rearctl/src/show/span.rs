//! Spans of time as people say them: one number, one unit.

use rear_agent_sdk::communicator::Timestamp;
use rear_api::moment;

const SECOND: i64 = 1_000_000_000;

/// `45s`, `12m`, `3h`, `9d`: whole units, rounded down.
pub(crate) fn rough(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    match seconds.unsigned_abs() {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago a moment was; as it is written where it cannot be read.
pub(super) fn since(moment: &str, now: Timestamp) -> String {
    match moment::read(moment) {
        // A broker whose clock is ahead: `check` tells.
        Ok(then) => rough(now.since(then).as_nanos().max(0)),
        Err(_) => moment.to_owned(),
    }
}

/// How long until a moment.
pub(super) fn until(moment: Option<&str>, now: Timestamp) -> String {
    let Some(moment) = moment else { return String::new() };
    match moment::read(moment) {
        Ok(then) => rough(then.since(now).as_nanos().max(0)),
        Err(_) => moment.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_one_number_and_one_unit() {
        let cases = [(5, "5s"), (119, "119s"), (120, "2m"), (7200, "2h"), (200_000, "2d")];
        for (seconds, text) in cases {
            assert_eq!(rough(seconds * SECOND), text);
        }
    }
}
