//! What capacity costs for an hour: decimal strings on the wire, billionths of a currency unit inside.

use std::fmt::{self, Write};
use std::str::FromStr;

use thiserror::Error;

use crate::decimal::Decimal;
use crate::resources::{Dimension, Resources};

/// ISO 4217 codes have three letters; other units of account (`credits`) are welcome.
pub const MAX_CURRENCY_LENGTH: usize = 16;

/// A rate above this many units an hour is a mistake; it also keeps every product within 128 bits.
pub const MAX_RATE: u64 = 1_000_000_000;

const BILLION: u64 = 1_000_000_000;

// The largest amount times the largest rate, three terms of it, stays within u128.
const _: () = assert!((i64::MAX as u128) < u128::MAX / 3 / (MAX_RATE as u128 * BILLION as u128));

/// A unit of account, compared to the letter: its letters are kept as one number, because every decision that counts cost
/// compares many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency(u128);

const _: () = assert!(MAX_CURRENCY_LENGTH == size_of::<Currency>());

/// The price of one core, one GiB or one device for an hour, in billionths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// A price for an hour, in billionths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(u128);

/// What a cluster charges.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cost {
    /// For a core.
    pub cpu: Rate,
    /// For a GiB of memory.
    pub memory: Rate,
    /// For a device.
    pub gpu: Rate,
    /// In which currency.
    pub currency: Currency,
}

/// The most that a request may cost.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PriceCeiling {
    /// For the whole request, for an hour.
    pub amount: Price,
    /// In which currency.
    pub currency: Currency,
}

/// Why a text is not a price or a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PriceError {
    /// Not a plain decimal number.
    #[error("a price is a decimal number that is not negative, such as 0.05")]
    NotADecimal,
    /// Above [`MAX_RATE`].
    #[error("a price is at most {MAX_RATE} for an hour")]
    TooLarge,
    /// Not a name of a currency.
    #[error("a currency has 1 to {MAX_CURRENCY_LENGTH} letters or digits")]
    Currency,
}

/// Rounded up: what is charged is never shown as less, and only 0 is free.
fn billionths(text: &str) -> Result<u64, PriceError> {
    if text.len() > crate::quantity::MAX_QUANTITY_LENGTH {
        return Err(PriceError::NotADecimal);
    }
    let (number, rest) = Decimal::read(text).ok_or(PriceError::NotADecimal)?;
    if !rest.is_empty() {
        return Err(PriceError::NotADecimal);
    }
    let scaled = number.scale_up(0, BILLION.into()).ok_or(PriceError::TooLarge)?;
    match u64::try_from(scaled) {
        Ok(amount) if amount <= MAX_RATE * BILLION => Ok(amount),
        _ => Err(PriceError::TooLarge),
    }
}

impl FromStr for Rate {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        billionths(text).map(Self)
    }
}

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        billionths(text).map(|amount| Self(amount.into()))
    }
}

impl FromStr for Currency {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        let mut letters = [0; MAX_CURRENCY_LENGTH];
        let named = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let place = letters.get_mut(..text.len()).filter(|_| named).ok_or(PriceError::Currency)?;
        place.copy_from_slice(text.as_bytes());
        Ok(Self(u128::from_be_bytes(letters)))
    }
}

impl Rate {
    /// The rate in billionths of a unit.
    #[must_use]
    pub const fn billionths(self) -> u64 {
        self.0
    }
}

impl Price {
    /// The price in billionths of a unit.
    #[must_use]
    pub const fn billionths(self) -> u128 {
        self.0
    }
}

impl Cost {
    /// What these resources cost here for an hour; storage is free. Each term is rounded up to a billionth.
    #[must_use]
    pub fn of(&self, resources: Resources) -> Price {
        let term = |dimension: Dimension, rate: Rate, units_per_rate: u64| {
            let amount = resources.get(dimension);
            // Most products are small enough for the faster division.
            match amount.checked_mul(rate.0) {
                Some(product) => product.div_ceil(units_per_rate).into(),
                None => (u128::from(amount) * u128::from(rate.0)).div_ceil(units_per_rate.into()),
            }
        };
        let millis_per_core = 1000;
        let bytes_per_gib = 1 << 30;
        Price(
            term(Dimension::Cpu, self.cpu, millis_per_core)
                + term(Dimension::Memory, self.memory, bytes_per_gib)
                + term(Dimension::Gpu, self.gpu, 1),
        )
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.0.to_be_bytes().into_iter().take_while(|&letter| letter > 0);
        letters.map(char::from).try_for_each(|letter| f.write_char(letter))
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Currency({self})")
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Price(self.0.into()).fmt(f)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let billion = u128::from(BILLION);
        let fraction = format!("{:09}", self.0 % billion);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / billion),
            digits => write!(f, "{}.{digits}", self.0 / billion),
        }
    }
}
