//! Which vector instructions the processor has: what is generic over [`Vectors`] is compiled twice, for every x86-64 and
//! for those with AVX2, and chosen at run time where it is entered. No build flag ties a binary to a machine.
// The five unsafe calls of the crate: each enters a function that is compiled for AVX2, which there is an `Avx2` for only
// after the processor said that it has it. Measured in benches/decide.rs: without it scans take about twice as long.
#![allow(unsafe_code)]
// `always`: what is generic must be compiled as part of whoever has entered it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::pick::Picked;
use super::probe::Probe;
use super::scan::{Table, write_keys};
use super::{Lane, largest};

/// What vector instructions do better than plain loops over 32 numbers.
pub(in crate::place) trait Vectors: Copy {
    /// The largest of them.
    fn largest(self, numbers: &Lane) -> f32;

    /// Those that are at least this.
    fn at_least(self, numbers: &Lane, floor: f32) -> Picked;

    /// Those that are at most this.
    fn at_most(self, numbers: &Lane, ceiling: f32) -> Picked;

    /// Writes the key of each row of a table, and returns the largest.
    fn keys(self, table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32;
}

/// Something that is worth compiling twice. `run` must be inlined, and so must all of it that has to do with vectors.
pub(in crate::place) trait Vectorised {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run(self, vectors: impl Vectors) -> Self::Output;
}

/// Does something with the best vectors that this processor has.
#[inline(always)]
pub(in crate::place) fn vectorised<W: Vectorised>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Avx2::detected() {
        // SAFETY: there is an `Avx2`, so the processor has it; nothing else is required.
        return unsafe { run_avx2(work, vectors) };
    }
    work.run(Plain)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<W: Vectorised>(work: W, vectors: Avx2) -> W::Output {
    work.run(vectors)
}

/// What every processor has.
#[derive(Clone, Copy)]
struct Plain;

impl Vectors for Plain {
    #[inline(always)]
    fn largest(self, numbers: &Lane) -> f32 {
        largest(numbers)
    }

    #[inline(always)]
    fn at_least(self, numbers: &Lane, floor: f32) -> Picked {
        Picked::where_it_is_so(numbers, |number| number >= floor)
    }

    #[inline(always)]
    fn at_most(self, numbers: &Lane, ceiling: f32) -> Picked {
        Picked::where_it_is_so(numbers, |number| number <= ceiling)
    }

    #[inline(always)]
    fn keys(self, table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32 {
        write_keys(table, probe, keys);
        largest(keys)
    }
}

/// Proof that the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline(always)]
    fn detected() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Vectors for Avx2 {
    #[inline(always)]
    fn largest(self, numbers: &Lane) -> f32 {
        // SAFETY: as in `vectorised`.
        unsafe { avx2::largest(numbers) }
    }

    #[inline(always)]
    fn at_least(self, numbers: &Lane, floor: f32) -> Picked {
        // SAFETY: as in `vectorised`.
        Picked(unsafe { avx2::at_least(numbers, floor) })
    }

    #[inline(always)]
    fn at_most(self, numbers: &Lane, ceiling: f32) -> Picked {
        // SAFETY: as in `vectorised`.
        Picked(unsafe { avx2::at_most(numbers, ceiling) })
    }

    #[inline(always)]
    fn keys(self, table: &Table<'_>, probe: &Probe, keys: &mut Lane) -> f32 {
        // SAFETY: as in `vectorised`.
        unsafe { avx2::keys(table, probe, keys) }
    }
}

// A test that is surprised should fail at once.
#[cfg(all(test, target_arch = "x86_64"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Columns, LANES, Numbers};
    use super::*;
    use crate::ask::{Ask, Terms};
    use crate::policy::Weights;
    use crate::resources::{DIMENSIONS, Resources};
    use crate::testing::cluster;
    use crate::testing::fleets::Dice;

    fn amounts(dice: &mut Dice, below: u64) -> Resources {
        let amounts: [u64; DIMENSIONS] = std::array::from_fn(|_| dice.below(below) + 1);
        Resources::from_amounts(amounts).unwrap()
    }

    fn block(dice: &mut Dice) -> Columns {
        let mut columns = Columns::default();
        columns.add_block();
        for row in 0..LANES {
            // Some rows stay vacant.
            if dice.below(8) > 0 {
                let size = amounts(dice, 1 << 40);
                let free = size.saturating_sub(amounts(dice, 1 << 40));
                columns.set(row, Numbers::of(size, free, None));
            }
        }
        columns
    }

    /// Processors without AVX2 are rare by now: what they do is compared with what all others do.
    #[test]
    fn plain_loops_and_vectors_see_the_same() {
        let Some(vectors) = Avx2::detected() else { return };
        let mut dice = Dice::new(11);
        for _ in 0..500 {
            let columns = block(&mut dice);
            let wanted = amounts(&mut dice, 1 << 38);
            let ask = Ask::new(cluster("r"), wanted, Terms::default()).unwrap();
            let probe = Probe::new(&ask).weigh_room(Weights::default(), 1.0);
            let (mut plainly, mut quickly): (Lane, Lane) = ([0.0; LANES], [0.0; LANES]);
            let largest = columns.keys(0, &probe, Plain, &mut plainly);
            assert_eq!(largest.to_bits(), columns.keys(0, &probe, vectors, &mut quickly).to_bits());
            assert_eq!(plainly.map(f32::to_bits), quickly.map(f32::to_bits));
            let limit = plainly[usize::try_from(dice.below(LANES as u64)).unwrap()];
            assert_eq!(Plain.at_least(&plainly, limit), vectors.at_least(&plainly, limit));
            assert_eq!(Plain.at_most(&plainly, limit), vectors.at_most(&plainly, limit));
            assert_eq!(Plain.largest(&plainly).to_bits(), vectors.largest(&plainly).to_bits());
        }
    }
}
