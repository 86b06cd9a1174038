//! The broker's time, out of a wall clock that may step and a monotonic clock that may not.
//!
//! Promises end by this time. It never runs backwards, also not across restarts; it goes on by the
//! monotonic clock while the wall clock is behind; and a wall clock that jumps far ahead is not believed
//! until someone confirms it, because believing it would end every promise at once.

use rear_engine::{Duration, Timestamp};

/// A step ahead by more than this is not believed: clocks that are corrected step by less.
pub const MAX_STEP_AHEAD: Duration = Duration::from_seconds(5 * 60);

/// What both clocks show at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// The wall clock.
    pub wall: Timestamp,
    /// Time since some fixed moment, by a clock that is never set.
    pub monotonic: Duration,
}

/// The broker's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What time it is.
    pub now: Timestamp,
    /// The wall clock is not believed: nothing may be granted or expired.
    pub alarm: Option<Alarm>,
}

/// The wall clock jumped ahead; among several brokers, it is not what the others agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// How far it is ahead of the broker's time; negative where it is behind.
    pub ahead_by: Duration,
}

impl std::fmt::Display for Alarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.ahead_by.as_nanos() < 0 {
            let behind = Duration::from_nanos(self.ahead_by.as_nanos().saturating_neg());
            write!(f, "the clock is behind by {behind}")
        } else {
            write!(f, "the clock jumped ahead by {}", self.ahead_by)
        }
    }
}

/// Keeps the time.
#[derive(Debug, Clone)]
pub struct Timekeeper {
    /// The latest time that was given out, by this process or the one before it.
    mark: Timestamp,
    /// What the monotonic clock showed then; `None` before the first reading of this process.
    marked_at: Option<Duration>,
}

impl Timekeeper {
    /// Goes on from the latest time that was made durable.
    #[must_use]
    pub fn resume(mark: Timestamp) -> Self {
        Self { mark, marked_at: None }
    }

    /// The latest time that was given out: what has to be made durable.
    #[must_use]
    pub fn mark(&self) -> Timestamp {
        self.mark
    }

    /// What time it is.
    pub fn read(&mut self, clocks: Clocks) -> Reading {
        let Some(marked_at) = self.marked_at else {
            // Nothing is known of the time while no process ran: only that it did not go back.
            return self.give_out(clocks.wall.max(self.mark), clocks, None);
        };
        let elapsed = clocks.monotonic.as_nanos().saturating_sub(marked_at.as_nanos()).max(0);
        let expected = self.mark.plus(Duration::from_nanos(elapsed));
        let ahead_by = clocks.wall.since(expected);
        if ahead_by > MAX_STEP_AHEAD {
            return self.give_out(expected, clocks, Some(Alarm { ahead_by }));
        }
        let behind = clocks.wall < self.mark;
        self.give_out(if behind { expected } else { clocks.wall }, clocks, None)
    }

    /// Someone has looked: the wall clock is right.
    pub fn confirm(&mut self, clocks: Clocks) -> Reading {
        self.give_out(clocks.wall.max(self.mark), clocks, None)
    }

    fn give_out(&mut self, now: Timestamp, clocks: Clocks, alarm: Option<Alarm>) -> Reading {
        self.mark = now;
        self.marked_at = Some(clocks.monotonic);
        Reading { now, alarm }
    }
}
