//! The time of a shared journal: it never runs backwards, and no broker's clock can drag the others along.
//!
//! A broker believes its wall clock as long as that is near to what the entries of the others say, carried on by its own
//! monotonic clock. Its own entries do not count as proof of its own clock: otherwise one that runs too fast could move
//! the journal ahead in small steps.

use rear_engine::{Duration, Timestamp};

use crate::timekeeper::{Alarm, Clocks, Reading};

/// How far a clock may be from what is known of the journal's time: clocks that are kept by NTP are far nearer.
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
    /// A time that is known to have been right, when the monotonic clock showed this, and how exact it is.
    anchor: Option<Anchor>,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    time: Timestamp,
    at: Duration,
    slack: Duration,
}

impl SharedTime {
    /// The first to come, where nobody else is: nothing is known but that time did not go back.
    #[must_use]
    pub fn alone(mark: Timestamp) -> Self {
        Self { mark, marked_at: None, anchor: None }
    }

    /// One that comes to others: the last entry is not much older than a tick.
    #[must_use]
    pub fn among_others(mark: Timestamp, clocks: Clocks) -> Self {
        let anchor = Anchor { time: mark, at: clocks.monotonic, slack: NEWCOMER_SLACK };
        Self { mark, marked_at: Some(clocks.monotonic), anchor: Some(anchor) }
    }

    /// The latest time that was given out or followed.
    #[must_use]
    pub fn mark(&self) -> Timestamp {
        self.mark
    }

    /// Someone else has made an entry.
    pub fn follow(&mut self, time: Timestamp, clocks: Clocks) {
        self.give_out(time, clocks);
        self.anchor = Some(Anchor { time, at: clocks.monotonic, slack: SLACK });
    }

    /// Nobody else is there, and no entry of anyone has come: there is nothing to compare the clock with.
    pub fn left_alone(&mut self) {
        if self.anchor.is_some_and(|anchor| anchor.slack == NEWCOMER_SLACK) {
            self.anchor = None;
        }
    }

    /// What time it is.
    pub fn read(&mut self, clocks: Clocks) -> Reading {
        let Some(anchor) = self.anchor else { return self.confirm(clocks) };
        let expected = since(anchor.time, anchor.at, clocks);
        let ahead_by = clocks.wall.since(expected);
        let off = ahead_by.as_nanos().unsigned_abs() > anchor.slack.as_nanos().unsigned_abs();
        let believed = match self.marked_at {
            _ if off => expected,
            // A clock that is a little behind does not hold up the time.
            Some(at) if clocks.wall < self.mark => since(self.mark, at, clocks),
            _ => clocks.wall,
        };
        self.give_out(believed, clocks);
        Reading { now: self.mark, alarm: off.then_some(Alarm { ahead_by }) }
    }

    /// Someone has looked, or nobody else is there: the wall clock is right.
    pub fn confirm(&mut self, clocks: Clocks) -> Reading {
        self.give_out(clocks.wall, clocks);
        self.anchor = Some(Anchor { time: clocks.wall, at: clocks.monotonic, slack: SLACK });
        Reading { now: self.mark, alarm: None }
    }

    /// Never backwards.
    fn give_out(&mut self, time: Timestamp, clocks: Clocks) {
        self.mark = self.mark.max(time);
        self.marked_at = Some(clocks.monotonic);
    }
}

/// A time, carried on by the monotonic clock.
fn since(time: Timestamp, at: Duration, clocks: Clocks) -> Timestamp {
    let elapsed = clocks.monotonic.as_nanos().saturating_sub(at.as_nanos()).max(0);
    time.plus(Duration::from_nanos(elapsed))
}
