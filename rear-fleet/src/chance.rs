//! Numbers by chance that are the same for the same seed: what a fleet does can be done again.

use std::time::Duration;

/// A source of numbers: `SplitMix64`, which is short and good enough to shuffle a simulation.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// One of many sources of a seed, each with its own numbers.
    ///
    /// ```
    /// use rear_fleet::Chance;
    ///
    /// assert_eq!(Chance::new(7, 1).next(), Chance::new(7, 1).next());
    /// ```
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut chance = Self(seed);
        Self(chance.next().wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any number.
    #[expect(clippy::should_implement_trait, reason = "there is no end of them to be told")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, percent: u8) -> bool {
        self.next() % 100 < u64::from(percent)
    }

    /// Any of them; there must be one.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.next() % of.len() as u64).unwrap_or(0)]
    }

    /// Between half and one and a half of a time.
    pub fn around(&mut self, mean: Duration) -> Duration {
        let thousandths = u32::try_from(self.between(500, 1500)).unwrap_or(1000);
        mean * thousandths / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_streams_differ() {
        let numbers = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            [chance.next(), chance.next(), chance.next()]
        };
        assert_eq!(numbers(7, 1), numbers(7, 1));
        assert_ne!(numbers(7, 1), numbers(7, 2));
        assert_ne!(numbers(7, 1), numbers(8, 1));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut chance = Chance::new(1, 1);
        let mean = Duration::from_secs(10);
        for _ in 0..1000 {
            assert!((3..=5).contains(&chance.between(3, 5)));
            assert!((mean / 2..=mean * 3 / 2).contains(&chance.around(mean)));
            assert!(!chance.percent(0) && chance.percent(100));
        }
    }
}
