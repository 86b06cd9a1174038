//! Chance in pauses, so that clients that failed together do not come back together.

use std::time::Duration;

/// Between half of a pause and all of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let thousandths = u32::try_from(uuid::Uuid::new_v4().as_u128() % 501).unwrap_or(0);
    pause * (500 + thousandths) / 1000
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pauses_are_of_many_lengths_from_a_half_to_the_whole() {
        let pause = Duration::from_secs(1);
        let found: BTreeSet<_> = (0..100).map(|_| jittered(pause)).collect();
        assert!(found.len() > 10, "{found:?}");
        assert!(found.iter().all(|found| *found >= pause / 2 && *found <= pause), "{found:?}");
    }
}
