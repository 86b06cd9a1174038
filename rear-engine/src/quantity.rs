//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) as exact numbers; every amount from outside is read here.
//!
//! A [`Quantity`] is a signed count of billionths, so that the smallest suffix (`n`) is exact. What is
//! smaller still is rounded away from zero, as Kubernetes does. Unlike Kubernetes, which clamps and
//! guesses, an empty mantissa (`Ki`) and a value that does not fit are refused.

mod parse;
mod print;

use thiserror::Error;

/// Longer texts are refused before they are read: no honest quantity needs as many characters.
pub const MAX_QUANTITY_LENGTH: usize = 128;

const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// An exact number as Kubernetes writes it, with the notation that it was written in.
///
/// ```
/// use rear_engine::quantity::Quantity;
///
/// let memory: Quantity = "1.5Gi".parse()?;
/// assert_eq!(memory.to_units()?, 1_610_612_736);
/// assert_eq!(memory.to_string(), "1536Mi");
/// # Ok::<(), rear_engine::quantity::QuantityError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
}

/// How a quantity was written, which is how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Powers of 1000: `n`, `u`, `m`, none, `k`, `M`, `G`, `T`, `P`, `E`.
    Decimal,
    /// Powers of 1024: `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`.
    Binary,
    /// Scientific: `1e3`.
    Exponent,
}

/// Why a text is not a quantity, or a quantity not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Nothing was written.
    #[error("a quantity is missing: the text is empty")]
    Empty,
    /// More than [`MAX_QUANTITY_LENGTH`] characters.
    #[error("a quantity has at most {MAX_QUANTITY_LENGTH} characters")]
    TooLong,
    /// No digit stands before the suffix.
    #[error("a quantity needs at least one digit before its suffix")]
    NoDigits,
    /// What follows the number is not a known suffix.
    #[error(
        "unknown suffix: use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
    )]
    UnknownSuffix,
    /// The value cannot be held exactly.
    #[error("the quantity is too large")]
    TooLarge,
    /// An amount of something cannot be below zero.
    #[error("the quantity is negative where an amount is meant")]
    Negative,
}

impl Quantity {
    /// A decimal quantity of `millis` thousandths: the way CPU is printed.
    #[must_use]
    pub fn from_millis(millis: u64) -> Self {
        Self { nanos: i128::from(millis) * NANOS_PER_MILLI, notation: Notation::Decimal }
    }

    /// A quantity of `units` in binary notation: the way memory and storage are printed.
    #[must_use]
    pub fn from_bytes(units: u64) -> Self {
        Self { nanos: i128::from(units) * NANOS_PER_UNIT, notation: Notation::Binary }
    }

    /// A quantity of `units` in decimal notation: the way devices are printed.
    #[must_use]
    pub fn from_units(units: u64) -> Self {
        Self { nanos: i128::from(units) * NANOS_PER_UNIT, notation: Notation::Decimal }
    }

    /// The exact value in billionths.
    #[must_use]
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// How it was written.
    #[must_use]
    pub fn notation(self) -> Notation {
        self.notation
    }

    /// The amount in whole units, rounded up: bytes, devices.
    pub fn to_units(self) -> Result<u64, QuantityError> {
        self.round_up_to(NANOS_PER_UNIT)
    }

    /// The amount in thousandths, rounded up: millicores.
    pub fn to_millis(self) -> Result<u64, QuantityError> {
        self.round_up_to(NANOS_PER_MILLI)
    }

    /// Amounts end at `i64::MAX` so that differences of two amounts fit as well.
    fn round_up_to(self, nanos_per_step: i128) -> Result<u64, QuantityError> {
        if self.nanos < 0 {
            return Err(QuantityError::Negative);
        }
        let whole = self.nanos / nanos_per_step;
        let steps = if whole * nanos_per_step == self.nanos { whole } else { whole + 1 };
        i64::try_from(steps).map(i64::cast_unsigned).map_err(|_| QuantityError::TooLarge)
    }
}
