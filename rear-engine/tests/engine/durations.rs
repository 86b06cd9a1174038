//! Durations are Go's, to the letter and to the nanosecond.

use proptest::prelude::*;
use rear_engine::duration::{Duration, DurationError};

fn nanos(text: &str) -> Result<i64, DurationError> {
    text.parse::<Duration>().map(Duration::as_nanos)
}

#[test]
fn texts_that_go_reads_mean_the_same() {
    const S: i64 = 1_000_000_000;
    for (text, expected) in [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5s", 5 * S),
        ("30s", 30 * S),
        ("1478s", 1478 * S),
        ("-5s", -5 * S),
        ("+5s", 5 * S),
        ("5.0s", 5 * S),
        ("5.6s", 5 * S + 600_000_000),
        ("5.s", 5 * S),
        (".5s", 500_000_000),
        ("1.0040s", S + 4_000_000),
        ("100.00100s", 100 * S + 1_000_000),
        ("10ns", 10),
        ("11us", 11_000),
        ("12\u{b5}s", 12_000),
        ("12\u{3bc}s", 12_000),
        ("13ms", 13_000_000),
        ("14s", 14 * S),
        ("15m", 15 * 60 * S),
        ("16h", 16 * 3600 * S),
        ("1h30m", 5400 * S),
        ("1.5h", 5400 * S),
        ("3h30m", 12_600 * S),
        ("10.5s4m", 250 * S + 500_000_000),
        ("-2m3.4s", -(123 * S + 400_000_000)),
        ("1h2m3s4ms5us6ns", 3723 * S + 4_005_006),
        ("39h9m14.425s", 140_954 * S + 425_000_000),
        ("52763797000ns", 52_763_797_000),
        ("0.3333333333333333333h", 1200 * S),
        ("0.9223372036854775807s", 922_337_203),
        ("0.99999999999999999999999s", S),
        ("9007199254.740993ms", 9_007_199_254_740_993),
        ("9223372036854775807ns", i64::MAX),
        ("-9223372036854775808ns", i64::MIN),
        ("9007199254740993ns", 9_007_199_254_740_993),
        ("0.100000000000000000000h", 360 * S),
        // Go looks at digits as long as their number is at most 2^63, though it would have room for one more.
        ("0.9790878925333333108h", 3_524_716_413_119),
        ("0.830103483285477580700h", 2988 * S + 372_539_827),
    ] {
        assert_eq!(nanos(text), Ok(expected), "{text}");
    }
}

#[test]
fn texts_that_go_refuses_are_refused() {
    for (text, expected) in [
        ("", DurationError::Empty),
        ("3", DurationError::NoUnit),
        ("00", DurationError::NoUnit),
        ("-", DurationError::NoDigits),
        ("s", DurationError::NoDigits),
        (".", DurationError::NoDigits),
        (".s", DurationError::NoDigits),
        ("+.s", DurationError::NoDigits),
        ("1d", DurationError::UnknownUnit),
        ("1 h", DurationError::UnknownUnit),
        ("1h ", DurationError::UnknownUnit),
        (" 1h", DurationError::NoDigits),
        ("1H", DurationError::UnknownUnit),
        ("1hour", DurationError::UnknownUnit),
        ("1M", DurationError::UnknownUnit),
        ("--1h", DurationError::NoDigits),
        ("1h-30m", DurationError::UnknownUnit),
        ("9223372036854775808ns", DurationError::TooLarge),
        ("-9223372036854775809ns", DurationError::TooLarge),
        ("9223372036854ms775us808ns", DurationError::TooLarge),
        ("3000000h", DurationError::TooLarge),
        ("340282366920938463463374607431768211456h", DurationError::TooLarge),
    ] {
        assert_eq!(nanos(text), Err(expected), "{text:?}");
    }
    let longest = format!("0.{}s", "0".repeat(125));
    assert_eq!(nanos(&longest), Ok(0));
    let long = format!("0.{}s", "0".repeat(126));
    assert_eq!(nanos(&long), Err(DurationError::TooLong));
}

#[test]
fn durations_are_printed_as_go_prints_them() {
    for (text, printed) in [
        ("0", "0s"),
        ("1ns", "1ns"),
        ("1100ns", "1.1\u{b5}s"),
        ("2200us", "2.2ms"),
        ("3300ms", "3.3s"),
        ("245s", "4m5s"),
        ("4m5.001s", "4m5.001s"),
        ("5h6m7.001s", "5h6m7.001s"),
        ("90m", "1h30m0s"),
        ("8m0.000000001s", "8m0.000000001s"),
        ("9223372036854775807ns", "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ("999999999ns", "999.999999ms"),
        ("-1s", "-1s"),
    ] {
        assert_eq!(text.parse::<Duration>().unwrap().to_string(), printed);
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(nanos: i64) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+.0-9hmsnu\u{b5} ]{0,24}") {
        let _ = text.parse::<Duration>();
    }
}
