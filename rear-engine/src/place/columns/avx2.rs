//! What compilers do not find out by themselves: the largest of 32 numbers, and comparisons as bits, with AVX2.
#![cfg(target_arch = "x86_64")]

use std::arch::x86_64::{__m256, _CMP_GE_OQ, _CMP_LE_OQ, _mm256_cmp_ps, _mm256_max_ps};
use std::arch::x86_64::{_mm_cvtss_f32, _mm_max_ps, _mm_max_ss, _mm_movehdup_ps, _mm_movehl_ps};
use std::arch::x86_64::{_mm256_castps256_ps128, _mm256_extractf128_ps};
use std::arch::x86_64::{_mm256_movemask_ps, _mm256_set1_ps, _mm256_setr_ps};

use super::probe::Probe;
use super::scan::{Table, write_keys};
use super::{LANES, Lane};

/// Numbers in a vector.
const WIDTH: usize = 8;

/// The largest of 32 numbers.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn largest(numbers: &Lane) -> f32 {
    let mut best = eight(numbers, 0);
    for step in 1..LANES / WIDTH {
        best = _mm256_max_ps(best, eight(numbers, step));
    }
    let four = _mm_max_ps(_mm256_castps256_ps128(best), _mm256_extractf128_ps::<1>(best));
    let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
}

/// A bit for each number that is at least `floor`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn at_least(numbers: &Lane, floor: f32) -> u64 {
    let floor = _mm256_set1_ps(floor);
    let mut bits = 0;
    for step in 0..LANES / WIDTH {
        bits |= signs(_mm256_cmp_ps::<_CMP_GE_OQ>(eight(numbers, step), floor)) << (step * WIDTH);
    }
    bits
}

/// A bit for each number that is at most `ceiling`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn at_most(numbers: &Lane, ceiling: f32) -> u64 {
    let ceiling = _mm256_set1_ps(ceiling);
    let mut bits = 0;
    for step in 0..LANES / WIDTH {
        bits |= signs(_mm256_cmp_ps::<_CMP_LE_OQ>(eight(numbers, step), ceiling)) << (step * WIDTH);
    }
    bits
}

/// The keys of 32 rows, and the largest of them.
#[target_feature(enable = "avx2")]
pub(super) fn keys(table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32 {
    write_keys(table, probe, keys);
    largest(keys)
}

#[target_feature(enable = "avx2")]
#[inline]
fn signs(passed: __m256) -> u64 {
    _mm256_movemask_ps(passed).cast_unsigned().into()
}

#[target_feature(enable = "avx2")]
#[inline]
fn eight(numbers: &Lane, step: usize) -> __m256 {
    let (eights, _) = numbers.as_chunks::<WIDTH>();
    let it = eights[step];
    _mm256_setr_ps(it[0], it[1], it[2], it[3], it[4], it[5], it[6], it[7])
}
