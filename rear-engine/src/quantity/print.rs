//! Printing a quantity in Kubernetes' canonical form: no fraction, the largest suffix that allows it.

use std::fmt;

use super::{NANOS_PER_UNIT, Notation, Quantity};

const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Below this, binary suffixes would only confuse: Kubernetes prints such values as decimals.
const SMALLEST_BINARY: i128 = 1024 * NANOS_PER_UNIT;

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.notation {
            _ if self.nanos == 0 => f.write_str("0"),
            Notation::Binary if self.is_whole_and_large() => self.print_binary(f),
            Notation::Decimal | Notation::Binary => {
                let (mantissa, step) = thousands(self.nanos, DECIMAL_SUFFIXES.len() - 1);
                print(f, mantissa, DECIMAL_SUFFIXES[step])
            }
            Notation::Exponent => self.print_exponent(f),
        }
    }
}

impl Quantity {
    fn is_whole_and_large(self) -> bool {
        self.nanos % NANOS_PER_UNIT == 0 && self.nanos.abs() >= SMALLEST_BINARY
    }

    fn print_binary(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mantissa, step) =
            divide_out(self.nanos / NANOS_PER_UNIT, 1024, BINARY_SUFFIXES.len() - 1);
        print(f, mantissa, BINARY_SUFFIXES[step])
    }

    fn print_exponent(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mantissa, step) = thousands(self.nanos, usize::MAX);
        let steps_of_nano = 3;
        match step.checked_sub(steps_of_nano) {
            Some(0) => write!(f, "{mantissa}"),
            Some(above) => write!(f, "{mantissa}e{}", above * 3),
            None => write!(f, "{mantissa}e-{}", (steps_of_nano - step) * 3),
        }
    }
}

fn print(f: &mut fmt::Formatter<'_>, mantissa: i128, suffix: &str) -> fmt::Result {
    // Of a number that fits into 64 bits the digits are found several times faster.
    let mut digits = itoa::Buffer::new();
    f.write_str(match i64::try_from(mantissa) {
        Ok(small) => digits.format(small),
        Err(_) => digits.format(mantissa),
    })?;
    f.write_str(suffix)
}

/// Billionths as a mantissa and the number of whole thousands above a billionth.
fn thousands(nanos: i128, most: usize) -> (i128, usize) {
    divide_out(nanos, 1000, most)
}

fn divide_out(mut mantissa: i128, factor: i64, most: usize) -> (i128, usize) {
    let mut times = 0;
    while times < most
        && let Some(quotient) = exactly_divided(mantissa, factor)
    {
        mantissa = quotient;
        times += 1;
    }
    (mantissa, times)
}

/// Processors divide 64 bits much faster than 128, and almost all amounts have no more.
fn exactly_divided(number: i128, factor: i64) -> Option<i128> {
    if let Ok(small) = i64::try_from(number) {
        return (small % factor == 0).then(|| (small / factor).into());
    }
    let factor = i128::from(factor);
    (number % factor == 0).then(|| number / factor)
}
