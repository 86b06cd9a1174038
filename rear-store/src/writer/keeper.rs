//! Who keeps the time: the broker alone, or together with those who share its ledger.

use rear_engine::Timestamp;

use crate::journal::Sharing;
use crate::shared::SharedTime;
use crate::timekeeper::{Clocks, Reading, Timekeeper};

/// The time of a journal without an entry.
const NEVER: Timestamp = Timestamp::from_nanos(i64::MIN);

/// Keeps the time.
pub(super) enum Keeper {
    Alone(Timekeeper),
    Together(SharedTime),
}

impl Keeper {
    /// Goes on from the latest time that was made durable.
    pub(super) fn resume(mark: Timestamp, sharing: Option<&Sharing>, clocks: Clocks) -> Self {
        match sharing {
            None => Self::Alone(Timekeeper::resume(mark)),
            Some(Sharing { company, .. }) if !company || mark == NEVER => {
                Self::Together(SharedTime::alone(mark))
            }
            Some(_) => Self::Together(SharedTime::among_others(mark, clocks)),
        }
    }

    /// The latest time that was given out.
    pub(super) fn mark(&self) -> Timestamp {
        match self {
            Self::Alone(keeper) => keeper.mark(),
            Self::Together(keeper) => keeper.mark(),
        }
    }

    /// What time it is.
    pub(super) fn read(&mut self, clocks: Clocks) -> Reading {
        match self {
            Self::Alone(keeper) => keeper.read(clocks),
            Self::Together(keeper) => keeper.read(clocks),
        }
    }

    /// Someone has looked: the wall clock is right.
    pub(super) fn confirm(&mut self, clocks: Clocks) -> Reading {
        match self {
            Self::Alone(keeper) => keeper.confirm(clocks),
            Self::Together(keeper) => keeper.confirm(clocks),
        }
    }

    /// Whether the clock was believed once.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Alone(_) => true,
            Self::Together(keeper) => keeper.is_settled(),
        }
    }

    /// Nobody else is there.
    pub(super) fn left_alone(&mut self) {
        if let Self::Together(keeper) = self {
            keeper.left_alone();
        }
    }

    /// Someone else has made an entry.
    pub(super) fn follow(&mut self, time: Timestamp, clocks: Clocks) {
        if let Self::Together(keeper) = self {
            keeper.follow(time, clocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use rear_engine::Duration;

    use super::*;

    /// Both clocks show so many seconds, with the wall clock ahead.
    fn clocks(seconds: i64, ahead: i64) -> Clocks {
        Clocks { wall: at(seconds + ahead), monotonic: Duration::from_seconds(seconds) }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn resumed(mark: Timestamp, company: bool) -> Keeper {
        let sharing = Sharing { batch_bytes: 1, due: 1, company, broker: 1 };
        Keeper::resume(mark, Some(&sharing), clocks(100, 0))
    }

    fn alarms(mut keeper: Keeper) -> bool {
        // An hour ahead of the journal.
        keeper.read(clocks(100, 3600)).alarm.is_some()
    }

    #[test]
    fn a_clock_is_compared_with_those_who_are_there() {
        assert!(alarms(resumed(at(100), true)));
        assert!(!alarms(resumed(at(100), false)), "nobody is there");
        assert!(!alarms(resumed(NEVER, true)), "nobody has said anything");
        assert!(!alarms(resumed(NEVER, false)));
        let mut left = resumed(at(100), true);
        left.left_alone();
        assert!(!alarms(left));
    }

    #[test]
    fn one_that_shares_is_settled_once_its_clock_was_believed() {
        let mut keeper = resumed(at(100), true);
        assert!(!keeper.is_settled());
        assert_eq!(keeper.read(clocks(101, 0)).now, at(101));
        assert!(keeper.is_settled());
        assert!(Keeper::resume(at(100), None, clocks(100, 0)).is_settled(), "alone");
    }

    #[test]
    fn what_others_write_carries_the_time_on() {
        let mut keeper = resumed(at(100), true);
        keeper.follow(at(103), clocks(101, 0));
        assert_eq!(keeper.mark(), at(103));
        keeper.follow(at(102), clocks(101, 0));
        assert_eq!(keeper.mark(), at(103), "never backwards");
    }
}
