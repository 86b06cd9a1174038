//! Some of 32 rows, as bits: which of them are worth a closer look is seen without a branch for each.
// `always`: they are single instructions, wherever they are needed.
#![allow(clippy::inline_always)]

use super::{LANES, Lane};

const _: () = assert!(LANES <= u64::BITS as usize);

/// A set of rows: bit `i` stands for row `i` of 32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::place) struct Picked(pub(super) u64);

impl Picked {
    /// Every row.
    pub(in crate::place) const ALL: Self = Self((1 << LANES) - 1);

    /// No row.
    pub(super) const NONE: Self = Self(0);

    /// The rows whose number is so.
    pub(super) fn where_it_is_so(numbers: &Lane, is_so: impl Fn(f32) -> bool) -> Self {
        let bit = |(i, &number): (usize, &f32)| u64::from(is_so(number)) << i;
        Self(numbers.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit))
    }

    /// All the other rows.
    #[inline(always)]
    pub(super) fn others(self) -> Self {
        Self(!self.0).and(Self::ALL)
    }

    /// The rows that are in either.
    #[inline(always)]
    pub(super) fn or(self, Self(other): Self) -> Self {
        Self(self.0 | other)
    }

    /// All of these but one.
    #[inline(always)]
    pub(in crate::place) fn without(self, row: usize) -> Self {
        Self(self.0 & !(1 << row))
    }

    /// Whether there are none.
    #[inline(always)]
    pub(in crate::place) fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// The rows that are in both.
    #[inline(always)]
    pub(in crate::place) fn and(self, Self(other): Self) -> Self {
        Self(self.0 & other)
    }
}

impl Iterator for Picked {
    type Item = usize;

    /// From the last to the first: those are the likelier ones to rule others out.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let row = self.0.ilog2();
        self.0 ^= 1 << row;
        Some(row as usize)
    }
}
