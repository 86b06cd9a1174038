//! Decimal digits from a text, scaled by integers without losing one: quantities and prices share it.

/// Beyond this many places to the left, every digit of a text is out of range of a `u128`;
/// beyond that many to the right, it only matters that it is not zero.
const MOST_ZEROS: i64 = 256;

/// An unsigned decimal number: `0.d₁d₂d₃… × 10^point`.
pub(crate) struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads `12`, `1.5`, `.5` or `5.` and returns it with the rest of the text; `None` without a digit.
    pub(crate) fn read(text: &str) -> Option<(Self, &str)> {
        let whole = leading_digits(text);
        let mut rest = &text[whole.len()..];
        let mut fraction = "";
        if let Some(after_point) = rest.strip_prefix('.') {
            fraction = leading_digits(after_point);
            rest = &after_point[fraction.len()..];
        }
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|d| d - b'0').collect();
        if digits.is_empty() {
            return None;
        }
        Some((Self { digits, point: i64::try_from(whole.len()).ok()? }, rest))
    }

    /// `self × 10^shift × unit`, rounded up to a whole number; `None` when it does not fit.
    pub(crate) fn scale_up(&self, shift: i64, unit: u128) -> Option<u128> {
        if self.digits.iter().all(|&digit| digit == 0) {
            return Some(0);
        }
        let point = self.point.saturating_add(shift);
        let split = usize::try_from(point.clamp(0, MOST_ZEROS)).ok()?;
        let known = split.min(self.digits.len());
        let whole = integer(&self.digits[..known], split - known)?.checked_mul(unit)?;
        let leading_zeros = point.saturating_neg().clamp(0, MOST_ZEROS);
        let (part, dropped) = fraction(&self.digits[known..], leading_zeros, unit)?;
        whole.checked_add(part)?.checked_add(u128::from(dropped))
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
