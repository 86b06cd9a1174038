//! From numbers to places on paper, and which numbers are written at an axis.

use serde::{Deserialize, Serialize};

/// About so many marks read well beside each other.
const MARKS: f64 = 5.0;

/// So many powers of ten have marks between them.
const FEW_DECADES: f64 = 2.5;

/// How an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps, from zero.
    Linear,
    /// Equal factors.
    Log,
}

/// A scale with the range that it has to show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    /// Around these numbers. What a logarithm does not have (zero and below) is shown at the lower end.
    pub(super) fn around(scale: Scale, numbers: impl Iterator<Item = f64>) -> Self {
        let shown = numbers.filter(|number| scale == Scale::Linear || *number > 0.0);
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        });
        if !low.is_finite() || !high.is_finite() {
            return Self { scale, low: if scale == Scale::Log { 0.1 } else { 0.0 }, high: 1.0 };
        }
        match scale {
            Scale::Linear => {
                let high = if high > 0.0 { high } else { 1.0 };
                let step = step(high);
                Self { scale, low: 0.0, high: (high / step).ceil() * step }
            }
            Scale::Log => {
                let (low, high) = (low.log10().floor(), high.log10().ceil());
                let high = if high > low { high } else { low + 1.0 };
                Self { scale, low: 10_f64.powf(low), high: 10_f64.powf(high) }
            }
        }
    }

    /// Where a number lies, from 0 to 1.
    pub(super) fn place(self, number: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (number - self.low) / (self.high - self.low),
            Scale::Log if number <= 0.0 => 0.0,
            Scale::Log => (number / self.low).log10() / (self.high / self.low).log10(),
        };
        share.clamp(0.0, 1.0)
    }

    /// The numbers that are written.
    pub(super) fn marks(self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.high);
                let marks = (0_u32..).map(|at| f64::from(at) * step);
                marks.take_while(|mark| *mark <= self.high * 1.000_001).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10();
                let within: &[f64] = if decades < FEW_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let first = self.low.log10().round();
                let powers = (0_u32..20).map(|at| 10_f64.powf(first + f64::from(at)));
                let marks = powers.flat_map(|power| within.iter().map(move |digit| digit * power));
                marks.filter(|mark| *mark <= self.high * 1.000_001).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten.
fn step(high: f64) -> f64 {
    let rough = high / MARKS;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough);
    digit.unwrap_or(10.0) * power
}

/// A number at an axis: short.
pub(super) fn written(number: f64) -> String {
    let size = number.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e6 => (number / 1e6, "M"),
        _ if size >= 1e4 => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let text = format!("{scaled:.6}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(scale: Scale, numbers: &[f64]) -> Vec<String> {
        let range = Range::around(scale, numbers.iter().copied());
        range.marks().into_iter().map(written).collect()
    }

    #[test]
    fn marks_are_round_numbers_that_hold_everything() {
        assert_eq!(marks(Scale::Linear, &[3.0, 97.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(marks(Scale::Linear, &[0.12]), ["0", "0.05", "0.1", "0.15"]);
        assert_eq!(marks(Scale::Log, &[0.4, 2100.0]), ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!(marks(Scale::Log, &[3.0]), ["1", "2", "5", "10"]);
    }

    #[test]
    fn numbers_lie_between_the_ends() {
        let range = Range::around(Scale::Log, [1.0, 100.0].into_iter());
        assert!((range.place(10.0) - 0.5).abs() < 1e-9);
        assert!(range.place(0.0).abs() < 1e-9 && (range.place(1e9) - 1.0).abs() < 1e-9);
        let empty = Range::around(Scale::Linear, std::iter::empty());
        assert!(empty.place(0.5).is_finite() && !empty.marks().is_empty());
    }
}
