//! Decimal digits from a text, scaled by integers without losing one: quantities and prices share it.

/// Beyond this many places to the left, every digit of a text is out of range of a `u128`;
/// beyond that many to the right, it only matters that it is not zero.
const MOST_ZEROS: i64 = 256;

/// So many digits always fit into a `u64`.
const MOST_AT_ONCE: usize = 19;

/// An unsigned decimal number as it is written.
pub(crate) struct Decimal<'a> {
    /// The digits before the point.
    whole: &'a str,
    /// The digits after it.
    fraction: &'a str,
}

impl<'a> Decimal<'a> {
    /// Reads `12`, `1.5`, `.5` or `5.` and returns it with the rest of the text; `None` without a digit.
    pub(crate) fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let whole = leading_digits(text);
        let mut rest = &text[whole.len()..];
        let mut fraction = "";
        if let Some(after_point) = rest.strip_prefix('.') {
            fraction = leading_digits(after_point);
            rest = &after_point[fraction.len()..];
        }
        let has_digits = whole.len() + fraction.len() > 0;
        has_digits.then_some((Self { whole, fraction }, rest))
    }

    /// `self × 10^shift × unit`, rounded up to a whole number; `None` when it does not fit.
    pub(crate) fn scale_up(&self, shift: i64, unit: u128) -> Option<u128> {
        self.scale_up_at_once(shift, unit).or_else(|| self.scale_up_by_digits(shift, unit))
    }

    /// What almost all numbers are short enough for; `None` says nothing about whether the result would fit.
    fn scale_up_at_once(&self, shift: i64, unit: u128) -> Option<u128> {
        if self.whole.len() + self.fraction.len() > MOST_AT_ONCE {
            return None;
        }
        let number = self.digits().fold(0, |sum, digit| sum * 10 + u64::from(digit));
        let places = i64::try_from(self.fraction.len()).ok()?.checked_sub(shift)?;
        let power = 10_u128.checked_pow(u32::try_from(places.unsigned_abs()).ok()?)?;
        let units = u128::from(number).checked_mul(unit)?;
        if places < 0 { units.checked_mul(power) } else { Some(units.div_ceil(power)) }
    }

    fn scale_up_by_digits(&self, shift: i64, unit: u128) -> Option<u128> {
        let digits: Vec<u8> = self.digits().collect();
        if digits.iter().all(|&digit| digit == 0) {
            return Some(0);
        }
        let point = i64::try_from(self.whole.len()).ok()?.saturating_add(shift);
        let split = usize::try_from(point.clamp(0, MOST_ZEROS)).ok()?;
        let known = split.min(digits.len());
        let whole = integer(&digits[..known], split - known)?.checked_mul(unit)?;
        let leading_zeros = point.saturating_neg().clamp(0, MOST_ZEROS);
        let (part, dropped) = fraction(&digits[known..], leading_zeros, unit)?;
        whole.checked_add(part)?.checked_add(u128::from(dropped))
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0')
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

fn integer(digits: &[u8], trailing_zeros: usize) -> Option<u128> {
    let zeros = std::iter::repeat_n(&0, trailing_zeros);
    digits
        .iter()
        .chain(zeros)
        .try_fold(0_u128, |sum, &digit| sum.checked_mul(10)?.checked_add(u128::from(digit)))
}

/// `0.00…d₁d₂d₃… × unit`, rounded down, and whether that dropped anything.
///
/// From the last digit to the first, `(digit × unit + so far) / 10`: what a division drops can never
/// carry into the whole part again, so that it is enough to remember that something was dropped.
fn fraction(digits: &[u8], leading_zeros: i64, unit: u128) -> Option<(u128, bool)> {
    let zeros = (0..leading_zeros).map(|_| &0);
    let mut whole = 0_u128;
    let mut dropped = false;
    for &digit in digits.iter().rev().chain(zeros) {
        let sum = u128::from(digit).checked_mul(unit)?.checked_add(whole)?;
        whole = sum / 10;
        dropped |= sum % 10 != 0;
    }
    Some((whole, dropped))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_scaled_at_once_is_what_its_digits_say(
            text in "[0-9]{1,19}|[0-9]{0,9}\\.[0-9]{1,10}",
            shift in -40_i64..=40,
            unit in prop_oneof![Just(1), Just(1_000_000_000), Just(1_000_000_000 << 60), 1..u128::MAX],
        ) {
            let (number, rest) = Decimal::read(&text).unwrap();
            prop_assert_eq!(rest, "");
            if let Some(at_once) = number.scale_up_at_once(shift, unit) {
                prop_assert_eq!(Some(at_once), number.scale_up_by_digits(shift, unit));
            }
        }
    }

    #[test]
    fn what_agents_send_is_scaled_at_once() {
        for (text, shift, unit, result) in [
            ("1000000", 0, 1_000_000_000, 1_000_000_000_000_000),
            ("950", -3, 1_000_000_000, 950_000_000),
            ("1.5", 0, 1_000_000_000 << 30, 1_610_612_736_000_000_000),
            ("1.0000000001", 0, 1_000_000_000, 1_000_000_001),
            ("0", 0, 1_000_000_000, 0),
        ] {
            let (number, _) = Decimal::read(text).unwrap();
            assert_eq!(number.scale_up_at_once(shift, unit), Some(result), "{text}");
        }
    }
}
