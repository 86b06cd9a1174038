//! The time of a shared journal: it never runs backwards, and no broker's clock can drag the others along.
//!
//! A broker that comes to others compares its wall clock with the journal's time once. From then on the wall clock is
//! compared with the broker's own monotonic clock: it may be apart by a few seconds, all in all, and more is told. What
//! others write is not compared with it: an entry may have been on its way for long, and what others write follows what
//! this broker wrote.

use rear_engine::{Duration, Timestamp};

use crate::timekeeper::{Alarm, Clocks, Reading};

/// How far a clock may be from what is expected: clocks that are kept by NTP are far nearer.
pub const SLACK: Duration = Duration::from_seconds(5);

/// How long nothing happens before someone makes an entry that only tells the time.
pub const TICK: Duration = Duration::from_seconds(5);

/// How far it may be for one that has just come, and does not know how old the last entry is: two ticks more.
pub const NEWCOMER_SLACK: Duration = Duration::from_seconds(15);

/// Keeps the time of a shared journal.
#[derive(Debug, Clone)]
pub struct SharedTime {
    /// The latest time that was given out or followed.
    mark: Timestamp,
    /// What the monotonic clock showed then; `None` before the first reading.
    marked_at: Option<Duration>,
    expected: Expected,
}

/// What the wall clock is compared with.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Nothing: nobody else is there to compare with.
    Anything,
    /// The time of the journal, by a broker that has just come.
    Journal { time: Timestamp, at: Duration, slack: Duration },
    /// What it showed when it was believed, carried on by the monotonic clock.
    Itself { wall: Timestamp, at: Duration },
}

impl SharedTime {
    /// The first to come, where nobody else is: nothing is known but that time did not go back.
    #[must_use]
    pub fn alone(mark: Timestamp) -> Self {
        Self { mark, marked_at: None, expected: Expected::Anything }
    }

    /// One that comes to others: the last entry is not much older than a tick.
    #[must_use]
    pub fn among_others(mark: Timestamp, clocks: Clocks) -> Self {
        let (time, at, slack) = (mark, clocks.monotonic, NEWCOMER_SLACK);
        let expected = Expected::Journal { time, at, slack };
        Self { mark, marked_at: Some(at), expected }
    }

    /// The latest time that was given out or followed.
    #[must_use]
    pub fn mark(&self) -> Timestamp {
        self.mark
    }

    /// Whether the wall clock was believed once: others may compare theirs with what this broker writes.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self.expected, Expected::Itself { .. })
    }

    /// Someone else has made an entry.
    pub fn follow(&mut self, time: Timestamp, clocks: Clocks) {
        if let Expected::Journal { .. } = self.expected {
            let (at, slack) = (clocks.monotonic, SLACK);
            self.expected = Expected::Journal { time, at, slack };
        }
        self.give_out(time, clocks);
    }

    /// Nobody else is there whose clock was believed: there is nothing to compare with.
    pub fn left_alone(&mut self) {
        if matches!(self.expected, Expected::Journal { .. }) {
            self.expected = Expected::Anything;
        }
    }

    /// What time it is.
    pub fn read(&mut self, clocks: Clocks) -> Reading {
        if let Some((expected, ahead_by)) = self.off_by(clocks) {
            self.give_out(expected, clocks);
            return Reading { now: self.mark, alarm: Some(Alarm { ahead_by }) };
        }
        if !self.is_settled() {
            self.believe(clocks);
        }
        let believed = match self.marked_at {
            // A clock that is a little behind does not hold up the time.
            Some(at) if clocks.wall < self.mark => since(self.mark, at, clocks),
            _ => clocks.wall,
        };
        self.give_out(believed, clocks);
        Reading { now: self.mark, alarm: None }
    }

    /// Someone has looked: the wall clock is right.
    pub fn confirm(&mut self, clocks: Clocks) -> Reading {
        self.believe(clocks);
        self.read(clocks)
    }

    fn believe(&mut self, clocks: Clocks) {
        self.expected = Expected::Itself { wall: clocks.wall, at: clocks.monotonic };
    }

    /// What the wall clock should show, and how far it is ahead of that, if that is too far.
    fn off_by(&self, clocks: Clocks) -> Option<(Timestamp, Duration)> {
        let (expected, slack) = match self.expected {
            Expected::Anything => return None,
            Expected::Journal { time, at, slack } => (since(time, at, clocks), slack),
            Expected::Itself { wall, at } => (since(wall, at, clocks), SLACK),
        };
        let ahead_by = clocks.wall.since(expected);
        (!within(ahead_by, slack)).then_some((expected, ahead_by))
    }

    /// Never backwards.
    fn give_out(&mut self, time: Timestamp, clocks: Clocks) {
        self.mark = self.mark.max(time);
        self.marked_at = Some(clocks.monotonic);
    }
}

fn within(apart: Duration, slack: Duration) -> bool {
    apart.as_nanos().unsigned_abs() <= slack.as_nanos().unsigned_abs()
}

/// A time, carried on by the monotonic clock.
fn since(time: Timestamp, at: Duration, clocks: Clocks) -> Timestamp {
    let elapsed = clocks.monotonic.as_nanos().saturating_sub(at.as_nanos()).max(0);
    time.plus(Duration::from_nanos(elapsed))
}
