//! How much of what is due is done in one batch: so much that a caller who comes meanwhile does not wait long.

use rear_engine::Duration;

use super::MAX_DUE;

/// At the beginning, and the least: on a slow disk, where the sync takes most of the time whatever the portion is, more must end in
/// a second than callers can make.
const FIRST: usize = 128;
const LEAST: usize = 128;

/// About so long may a batch take in which as much is done as the portion allows: a few times what a sync takes.
const AIM: Duration = Duration::from_nanos(20_000_000);

/// A portion that follows the speed of the disk and the size of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portion(usize);

impl Default for Portion {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Portion {
    /// How much is done next.
    pub(super) fn size(self) -> usize {
        self.0
    }

    /// All of a portion was done, there is more, and it took so long.
    pub(super) fn took(&mut self, time: Duration) {
        self.0 = if time > AIM { (self.0 / 2).max(LEAST) } else { (self.0 * 2).min(MAX_DUE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: impl IntoIterator<Item = i64>) -> usize {
        let mut portion = Portion::default();
        times.into_iter().for_each(|millis| portion.took(Duration::from_nanos(millis * 1_000_000)));
        portion.size()
    }

    #[test]
    fn a_portion_grows_while_it_is_quick_and_shrinks_while_it_is_slow() {
        assert_eq!(after([1]), 2 * FIRST);
        assert_eq!(after([1; 20]), MAX_DUE);
        assert_eq!(after([500; 20]), LEAST);
        assert_eq!(after([1, 1, 300]), 2 * FIRST);
    }
}
