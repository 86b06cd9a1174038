//! What happens to a broker in a soak, and when: by chance, and the same for the same seed.

use std::time::Duration;

use rear_fleet::Chance;

/// Something that happens to the broker. Each is followed by an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// It is killed without a word, and started again after a while.
    Kill {
        /// For how long it is away.
        away: Duration,
    },
    /// It is asked to end, and started again.
    Stop,
    /// Everyone gets a new certificate: the broker, every cluster, the administrator.
    Rotate,
    /// Nothing happens to it: the audit alone.
    Look,
    /// A backup is taken.
    Backup,
    /// The machine is lost, and the last backup is restored on another disk.
    Restore,
}

/// Something, so long after what was before it.
pub(super) type Step = (Duration, Happening);

/// Between two things that happen, while faults are made.
const OFTEN: Duration = Duration::from_secs(20);

/// The same while the broker is left alone.
const SELDOM: Duration = Duration::from_secs(40);

/// The longest that a broker is away.
const LONGEST_AWAY_MILLIS: u64 = 3000;

/// Between a backup and the day when it is needed.
const AFTER_BACKUP: Duration = Duration::from_secs(30);

/// A third of the time with faults, then a backup that is restored; then the broker is one process for more than half of the time,
/// so that growth shows; in the end faults again.
pub(super) fn plan(seed: u64, length: Duration) -> Vec<Step> {
    let mut chance = Chance::new(seed, u64::MAX - 2);
    let mut steps = filled(length / 3, OFTEN, || faulty(&mut chance));
    steps.extend([(OFTEN, Happening::Backup), (AFTER_BACKUP, Happening::Restore)]);
    let mut chance = Chance::new(seed, u64::MAX - 3);
    steps.extend(filled(length * 55 / 100, SELDOM, || harmless(&mut chance)));
    let mut chance = Chance::new(seed, u64::MAX - 4);
    steps.extend(filled(length / 12, OFTEN, || faulty(&mut chance)));
    steps
}

/// One of each, as fast as they can be done.
pub(super) fn short_plan() -> Vec<Step> {
    let soon = Duration::from_secs(1);
    let kill = Happening::Kill { away: Duration::from_millis(200) };
    let all = [
        kill,
        Happening::Backup,
        Happening::Rotate,
        Happening::Restore,
        Happening::Look,
        Happening::Stop,
    ];
    all.into_iter().map(|happening| (soon, happening)).collect()
}

fn filled(
    length: Duration,
    every: Duration,
    mut next: impl FnMut() -> (u64, Happening),
) -> Vec<Step> {
    let (mut steps, mut spent) = (Vec::new(), Duration::ZERO);
    while spent < length {
        let (percent, happening) = next();
        let pause = every * u32::try_from(percent).unwrap_or(100) / 100;
        spent += pause;
        steps.push((pause, happening));
    }
    steps
}

/// What happens next, and after how many hundredths of the usual pause.
fn faulty(chance: &mut Chance) -> (u64, Happening) {
    let pause = chance.between(30, 170);
    let happening = match chance.between(0, 99) {
        0..60 => {
            Happening::Kill { away: Duration::from_millis(chance.between(0, LONGEST_AWAY_MILLIS)) }
        }
        60..75 => Happening::Stop,
        75..90 => Happening::Rotate,
        _ => Happening::Look,
    };
    (pause, happening)
}

fn harmless(chance: &mut Chance) -> (u64, Happening) {
    let pause = chance.between(30, 170);
    let happening = match chance.between(0, 99) {
        0..30 => Happening::Rotate,
        30..50 => Happening::Backup,
        _ => Happening::Look,
    };
    (pause, happening)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_AN_HOUR: Duration = Duration::from_mins(30);

    #[test]
    fn the_same_seed_makes_the_same_plan_and_another_another() {
        assert_eq!(plan(7, HALF_AN_HOUR), plan(7, HALF_AN_HOUR));
        assert_ne!(plan(7, HALF_AN_HOUR), plan(8, HALF_AN_HOUR));
    }

    #[test]
    fn everything_happens_in_half_an_hour_and_it_is_about_that_long() {
        for seed in 0..50 {
            let steps = plan(seed, HALF_AN_HOUR);
            let length: Duration = steps.iter().map(|(pause, _)| *pause).sum();
            assert!((HALF_AN_HOUR..HALF_AN_HOUR * 6 / 5).contains(&length), "{seed}: {length:?}");
            let count = |wanted: fn(&Happening) -> bool| {
                steps.iter().filter(|(_, happening)| wanted(happening)).count()
            };
            assert!(count(|it| matches!(it, Happening::Kill { .. })) >= 8, "{seed}");
            assert!(count(|it| *it == Happening::Rotate) >= 2, "{seed}");
            assert_eq!(count(|it| *it == Happening::Restore), 1, "{seed}");
        }
    }

    #[test]
    fn a_restore_has_a_backup_before_it_and_then_nobody_ends_the_broker_for_half_of_the_time() {
        let steps = plan(7, HALF_AN_HOUR);
        let restore = steps.iter().position(|(_, it)| *it == Happening::Restore).unwrap();
        assert_eq!(steps[restore - 1].1, Happening::Backup);
        let ends = |it: &Happening| matches!(it, Happening::Kill { .. } | Happening::Stop);
        let left_alone = steps[restore + 1..].iter().take_while(|(_, it)| !ends(it));
        let left_alone: Duration = left_alone.map(|(pause, _)| *pause).sum();
        assert!(left_alone >= HALF_AN_HOUR / 2, "{left_alone:?}");
    }
}
