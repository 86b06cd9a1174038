//! Moments as RFC 3339 writes them (`2026-01-02T15:04:05Z`): the one place that knows the calendar.

use jiff::fmt::temporal::DateTimePrinter;
use rear_engine::Timestamp;
use thiserror::Error;

/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// How moments are written.
const PRINTER: DateTimePrinter = DateTimePrinter::new();

/// Why a text is not a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MomentError {
    /// Another order, another separator, no zone, or digits beyond nanoseconds.
    #[error("a moment is written as in RFC 3339, such as 2026-01-02T15:04:05Z")]
    Shape,
    /// Well written, and in no calendar. There are no leap seconds here, as there are none in Go.
    #[error("there is no such date or time of day")]
    NoSuchTime,
    /// Before 1678 or after 2261.
    #[error("the moment is too far away to be represented")]
    TooFar,
}

/// Reads a moment. Upper case letters only, up to nine decimals, a zone always.
///
/// ```
/// use rear_api::moment;
/// use rear_engine::Timestamp;
///
/// assert_eq!(moment::read("1970-01-01T01:00:10+01:00"), Ok(Timestamp::from_seconds(10)));
/// assert!(moment::read("1970-01-01 00:00:10").is_err());
/// ```
pub fn read(text: &str) -> Result<Timestamp, MomentError> {
    if !is_rfc_3339(text.as_bytes()) {
        return Err(MomentError::Shape);
    }
    let leap_second = text.get(17..19) == Some("60");
    let moment = text.parse::<jiff::Timestamp>().ok().filter(|_| !leap_second);
    let nanos = moment.ok_or_else(|| unknown_to_the_calendar(text))?.as_nanosecond();
    i64::try_from(nanos).map(Timestamp::from_nanos).map_err(|_| MomentError::TooFar)
}

/// Why a well written text is no moment. Our calendar ends some hours before the year 9999 does, by the last second of which people
/// mean that something never ends.
fn unknown_to_the_calendar(text: &str) -> MomentError {
    let is_a_date = text.get(..19).is_some_and(|it| it.parse::<jiff::civil::DateTime>().is_ok());
    let at_its_end = text.starts_with("9999-12-3") && text.get(17..19) != Some("60");
    if is_a_date && at_its_end { MomentError::TooFar } else { MomentError::NoSuchTime }
}

/// A moment as text, in UTC, with as many decimals as it needs.
#[must_use]
pub fn text(moment: Timestamp) -> String {
    let nanos = moment.as_nanos();
    let (seconds, rest) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
    // Years 1677 to 2262 are a part of what the calendar covers.
    let moment = i32::try_from(rest).ok().and_then(|rest| jiff::Timestamp::new(seconds, rest).ok());
    PRINTER.timestamp_to_string(&moment.unwrap_or_default())
}

/// The shape alone: the calendar is not looked at yet. What reads calendars also takes other standards.
fn is_rfc_3339(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let zone = match rest.split_first() {
        Some((b'.', rest)) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &rest[digits..]
        }
        _ => rest,
    };
    looks_like(date_time, b"0000-00-00T00:00:00")
        && (zone == b"Z" || looks_like(zone, b"+00:00") || looks_like(zone, b"-00:00"))
}

/// Digits where the pattern has them, else the same characters.
fn looks_like(text: &[u8], pattern: &[u8]) -> bool {
    let same = |(byte, like): (&u8, &u8)| match like {
        b'0' => byte.is_ascii_digit(),
        _ => byte == like,
    };
    text.len() == pattern.len() && text.iter().zip(pattern).all(same)
}
