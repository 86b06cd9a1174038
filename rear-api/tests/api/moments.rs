//! Moments are read as RFC 3339 writes them and in no other way.

use proptest::prelude::*;
use rear_api::moment::{self, MomentError};
use rear_engine::Timestamp;

#[test]
fn moments_are_read_to_the_nanosecond_in_any_zone() {
    for (text, nanos) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-02T15:04:05Z", 1_767_366_245_000_000_000),
        ("2026-01-02T16:34:05+01:30", 1_767_366_245_000_000_000),
        ("2026-01-02T15:04:05-00:00", 1_767_366_245_000_000_000),
        ("2026-01-02T15:04:05.5Z", 1_767_366_245_500_000_000),
        ("2026-01-02T15:04:05.000000001Z", 1_767_366_245_000_000_001),
        ("1969-12-31T23:59:59.9Z", -100_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
    ] {
        assert_eq!(moment::read(text), Ok(Timestamp::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn everything_else_is_refused() {
    let shape = [
        "",
        "2026-01-02",
        "2026-01-02T15:04:05",
        "2026-01-02 15:04:05Z",
        "2026-01-02t15:04:05Z",
        "2026-01-02T15:04:05z",
        "2026-01-02T15:04Z",
        "2026-01-02T15:04:05.Z",
        "2026-01-02T15:04:05,5Z",
        "2026-01-02T15:04:05.0000000001Z",
        "2026-01-02T15:04:05+0100",
        "2026-01-02T15:04:05+01",
        "2026-01-02T15:04:05ZZ",
        " 2026-01-02T15:04:05Z",
        "+2026-01-02T15:04:05Z",
        "20260102T150405Z",
        "2026-01-02T15:04:05+01:00[Europe/Rome]",
        "1767366245",
        "２026-01-02T15:04:05Z",
        "2026-W01-5T15:04:05Z",
    ];
    for text in shape {
        assert_eq!(moment::read(text), Err(MomentError::Shape), "{text}");
    }
    let calendar = [
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T15:60:00Z",
        "2026-01-02T23:59:60Z",
        "2026-01-02T15:04:61Z",
        "2026-01-02T15:04:05+01:60",
        "2026-01-02T15:04:05+99:00",
        "9999-12-32T00:00:00Z",
        "9999-12-31T23:59:60Z",
    ];
    for text in calendar {
        assert_eq!(moment::read(text), Err(MomentError::NoSuchTime), "{text}");
    }
    // The second is what Go makes of a time that was never set.
    let far = ["1677-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2263-01-01T00:00:00Z"];
    // And what people write who mean for ever.
    for text in far.into_iter().chain(["9999-12-30T00:00:00Z", "9999-12-31T23:59:59Z"]) {
        assert_eq!(moment::read(text), Err(MomentError::TooFar), "{text}");
    }
}

#[test]
fn whole_seconds_are_printed_as_agents_of_the_earlier_system_print_them() {
    assert_eq!(moment::text(Timestamp::from_seconds(1_767_366_245)), "2026-01-02T15:04:05Z");
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same_moment(nanos: i64) {
        let moment = Timestamp::from_nanos(nanos);
        prop_assert_eq!(moment::read(&moment::text(moment)), Ok(moment));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[0-9TZ:.+ -]{0,40}|.*") {
        if let Ok(moment) = moment::read(&text) {
            prop_assert_eq!(moment::read(&moment::text(moment)), Ok(moment));
        }
    }
}
