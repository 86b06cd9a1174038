//! Durations in Go's syntax (`1h30m`, `1.5h`, `.5s`, `0`), exact to the nanosecond.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longer texts are refused before they are read.
pub const MAX_DURATION_LENGTH: usize = 128;

const SECOND: i64 = 1_000_000_000;

/// A signed span of time in nanoseconds, as Go's `time.Duration`.
///
/// ```
/// use rear_engine::duration::Duration;
///
/// let lease: Duration = "1.5h".parse()?;
/// assert_eq!(lease, Duration::from_seconds(5400));
/// assert_eq!(lease.to_string(), "1h30m0s");
/// # Ok::<(), rear_engine::duration::DurationError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

/// Why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DurationError {
    /// Nothing was written.
    #[error("a duration is missing: the text is empty")]
    Empty,
    /// More than [`MAX_DURATION_LENGTH`] characters.
    #[error("a duration has at most {MAX_DURATION_LENGTH} characters")]
    TooLong,
    /// A number was expected.
    #[error("a duration is a series of numbers with units, such as 1h30m")]
    NoDigits,
    /// A number without a unit.
    #[error("a unit is missing in the duration: use ns, us, ms, s, m or h")]
    NoUnit,
    /// A unit that Go does not know; it has no days.
    #[error("unknown unit in the duration: use ns, us, ms, s, m or h (a day is 24h)")]
    UnknownUnit,
    /// Beyond about 292 years.
    #[error("the duration is too long to be represented")]
    TooLarge,
}

impl Duration {
    /// A span of whole seconds.
    ///
    /// # Panics
    /// At compile time or at once when the seconds exceed about 292 years: meant for constants.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        match seconds.checked_mul(SECOND) {
            Some(nanos) => Self(nanos),
            None => panic!("the duration is too long to be represented"),
        }
    }

    /// A span of nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Its length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        if text.len() > MAX_DURATION_LENGTH {
            return Err(DurationError::TooLong);
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            None => return Err(DurationError::Empty),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
        };
        let nanos = i128::from(sum_of_parts(unsigned)?);
        let nanos = if negative { -nanos } else { nanos };
        i64::try_from(nanos).map(Self).map_err(|_| DurationError::TooLarge)
    }
}

/// Go counts up to 2⁶³ and looks at the sign at the end.
const MOST: u64 = 1 << 63;

fn sum_of_parts(text: &str) -> Result<u64, DurationError> {
    if text == "0" {
        return Ok(0);
    }
    let mut rest = text;
    let mut sum = 0_u64;
    loop {
        let whole = leading_digits(rest);
        let after_whole = &rest[whole.len()..];
        let fraction = after_whole.strip_prefix('.').map_or("", leading_digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(DurationError::NoDigits);
        }
        let after = after_whole.strip_prefix('.').map_or(after_whole, |f| &f[fraction.len()..]);
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let unit = nanos_of_unit(&after[..end])?;
        let part = part(whole, fraction, unit).ok_or(DurationError::TooLarge)?;
        sum = sum.checked_add(part).filter(|sum| *sum <= MOST).ok_or(DurationError::TooLarge)?;
        rest = &after[end..];
        if rest.is_empty() {
            return Ok(sum);
        }
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

fn part(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let nanos = whole.checked_mul(unit)?.checked_add(part_of_unit(fraction, unit))?;
    (nanos <= MOST).then_some(nanos)
}

/// As many digits of a fraction as Go looks at, times the unit, computed as Go does: in a `float64`.
/// Any other way differs from it by a nanosecond now and then.
#[allow(clippy::float_arithmetic, clippy::cast_precision_loss)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn part_of_unit(fraction: &str, unit: u64) -> u64 {
    let (mut digits, mut scale) = (0_u64, 1.0_f64);
    for digit in fraction.bytes() {
        let more = u64::from(digit - b'0');
        let next = digits.checked_mul(10).and_then(|tens| tens.checked_add(more));
        match next {
            Some(next) if next <= MOST => digits = next,
            _ => break,
        }
        scale *= 10.0;
    }
    (digits as f64 * (unit as f64 / scale)) as u64
}

fn nanos_of_unit(unit: &str) -> Result<u64, DurationError> {
    Ok(match unit {
        "" => return Err(DurationError::NoUnit),
        "ns" => 1,
        // Both letters that are read as micro: the micro sign and the Greek mu.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(DurationError::UnknownUnit),
    })
}

impl fmt::Display for Duration {
    /// As Go prints it: `1h30m0s`, `1.5s`, `250ms`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = self::SECOND.cast_unsigned();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let nanos = self.0.unsigned_abs();
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => print_decimal(f, nanos, 1_000, "\u{b5}s"),
            1_000_000..SECOND => print_decimal(f, nanos, 1_000_000, "ms"),
            SECOND.. => print_clock(f, nanos),
        }
    }
}

fn print_clock(f: &mut fmt::Formatter<'_>, nanos: u64) -> fmt::Result {
    const SECOND: u64 = self::SECOND.cast_unsigned();
    let minutes = nanos / SECOND / 60;
    let mut digits = itoa::Buffer::new();
    if minutes >= 60 {
        f.write_str(digits.format(minutes / 60))?;
        f.write_str("h")?;
    }
    if minutes > 0 {
        f.write_str(digits.format(minutes % 60))?;
        f.write_str("m")?;
    }
    print_decimal(f, nanos % (60 * SECOND), SECOND, "s")
}

/// `nanos / unit` with as many decimals as it needs.
fn print_decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    f.write_str(itoa::Buffer::new().format(nanos / unit))?;
    if !nanos.is_multiple_of(unit) {
        let places = usize::try_from(unit.ilog10()).unwrap_or_default();
        let fraction = format!("{:0places$}", nanos % unit);
        write!(f, ".{}", fraction.trim_end_matches('0'))?;
    }
    f.write_str(name)
}
