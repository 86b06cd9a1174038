//! Some of 32 rows, as bits: which of them are worth a closer look is seen without a branch for each.

use super::{LANES, Lane, scan};

const _: () = assert!(LANES <= u64::BITS as usize);

/// A set of rows: bit `i` stands for row `i` of 32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::place) struct Picked(pub(super) u64);

impl Picked {
    /// Every row.
    pub(in crate::place) const ALL: Self = Self((1 << LANES) - 1);

    /// The rows whose number is at least this.
    pub(in crate::place) fn at_least(numbers: &Lane, floor: f32) -> Self {
        Self(scan::at_least(numbers, floor))
    }

    /// The rows whose number is below this.
    pub(super) fn below(numbers: &Lane, limit: f32) -> Self {
        Self(!scan::at_least(numbers, limit)).and(Self::ALL)
    }

    /// The rows whose number is above this.
    pub(super) fn above(numbers: &Lane, limit: f32) -> Self {
        Self(!scan::at_most(numbers, limit)).and(Self::ALL)
    }

    /// The rows that are in either.
    pub(super) fn or(self, Self(other): Self) -> Self {
        Self(self.0 | other)
    }

    /// All of these but one.
    pub(in crate::place) fn without(self, row: usize) -> Self {
        Self(self.0 & !(1 << row))
    }

    /// Whether there are none.
    pub(in crate::place) fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// The rows that are in both.
    pub(in crate::place) fn and(self, Self(other): Self) -> Self {
        Self(self.0 & other)
    }
}

impl Iterator for Picked {
    type Item = usize;

    /// From the last to the first: those are the likelier ones to rule others out.
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let row = self.0.ilog2();
        self.0 ^= 1 << row;
        Some(row as usize)
    }
}
