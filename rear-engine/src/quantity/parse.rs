//! Reading a quantity: sign, digits, point, suffix.

use std::str::FromStr;

use super::{MAX_QUANTITY_LENGTH, Notation, Quantity, QuantityError};
use crate::decimal::Decimal;

const NANOS: u128 = 1_000_000_000;

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Empty);
        }
        if text.len() > MAX_QUANTITY_LENGTH {
            return Err(QuantityError::TooLong);
        }
        let (negative, unsigned) = strip_sign(text);
        let (mantissa, suffix) = Decimal::read(unsigned).ok_or(QuantityError::NoDigits)?;
        let suffix = Suffix::read(suffix)?;
        let magnitude = suffix.scale(&mantissa).ok_or(QuantityError::TooLarge)?;
        let magnitude = i128::try_from(magnitude).map_err(|_| QuantityError::TooLarge)?;
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
            notation: suffix.notation(),
        })
    }
}

fn strip_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

enum Suffix {
    /// A power of ten in decimal notation.
    Decimal(i64),
    /// A power of two.
    Binary(u32),
    /// A power of ten in scientific notation.
    Exponent(i64),
}

impl Suffix {
    fn read(text: &str) -> Result<Self, QuantityError> {
        Ok(match text {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => Self::Exponent(read_exponent(text)?),
        })
    }

    fn notation(&self) -> Notation {
        match self {
            Self::Decimal(_) => Notation::Decimal,
            Self::Binary(_) => Notation::Binary,
            Self::Exponent(_) => Notation::Exponent,
        }
    }

    /// The magnitude in billionths. Binary quantities end at `i64::MAX` units: there Kubernetes
    /// silently changes the value, and we refuse it.
    fn scale(&self, mantissa: &Decimal<'_>) -> Option<u128> {
        match *self {
            Self::Decimal(power) | Self::Exponent(power) => mantissa.scale_up(power, NANOS),
            Self::Binary(power) => {
                let nanos = mantissa.scale_up(0, NANOS << power)?;
                (nanos <= u128::from(i64::MAX.cast_unsigned()) * NANOS).then_some(nanos)
            }
        }
    }
}

/// `e3`, `E-3`, `e+3`: an exponent whose size alone says nothing about the value (`0e999` is 0).
fn read_exponent(text: &str) -> Result<i64, QuantityError> {
    let power = text.strip_prefix(['e', 'E']).ok_or(QuantityError::UnknownSuffix)?;
    let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::UnknownSuffix);
    }
    power.parse::<i32>().map(i64::from).map_err(|_| QuantityError::TooLarge)
}
