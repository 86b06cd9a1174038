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
