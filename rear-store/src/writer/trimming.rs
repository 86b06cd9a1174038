//! The event log does not grow for ever: the oldest events go when they are too old or too many.
//!
//! In chunks: removing one old event with each new one would write twice as many pages.

use std::collections::VecDeque;
use std::sync::Arc;

use rear_engine::{Duration, Timestamp};

use crate::journal::{Batch, JournalError, Reader};
use crate::position::{EventId, Position};
use crate::records::Table;
use crate::settings::EventRetention;

/// How many events go at once, about: the last commit of a chunk goes whole.
const CHUNK: usize = 4096;

/// How much longer or larger the log may get before it is trimmed: a sixteenth.
const SLACK: i64 = 16;

/// What is known of the event log.
pub(super) struct Trimming {
    retention: EventRetention,
    reader: Arc<dyn Reader>,
    trimmed_through: Position,
    /// How many events there are.
    count: usize,
    /// The oldest of them, as far as they have been looked at.
    oldest: VecDeque<(Position, Timestamp)>,
}

impl Trimming {
    /// From now on another retention counts.
    pub(super) fn keep(&mut self, retention: EventRetention) {
        self.retention = retention;
    }

    pub(super) fn load(
        retention: EventRetention,
        reader: Arc<dyn Reader>,
        trimmed_through: Position,
    ) -> Result<Self, JournalError> {
        let count = reader.snapshot()?.count(Table::Events)?;
        let oldest = VecDeque::new();
        let mut trimming = Self { retention, reader, trimmed_through, count, oldest };
        // A log that cannot be read stops the store here, where it is told, and not with every batch.
        trimming.look()?;
        Ok(trimming)
    }

    /// What should go now; the commit that it goes with is told to [`Trimming::committed`].
    pub(super) fn due(&mut self, now: Timestamp) -> Result<Option<Position>, JournalError> {
        if self.oldest.is_empty() && self.count > 0 {
            self.look()?;
        }
        let Some((_, first_at)) = self.oldest.front() else { return Ok(None) };
        let EventRetention { age, count } = self.retention;
        let slack = count / usize::try_from(SLACK).unwrap_or(1);
        let too_many = self.count > count.saturating_add(slack);
        let limit = age.as_nanos().saturating_add(age.as_nanos() / SLACK);
        let too_old = now.since(*first_at).as_nanos() > limit;
        if !too_many && !too_old {
            return Ok(None);
        }
        // More may have come since it was last looked at.
        self.look()?;
        Ok(self.through(now))
    }

    /// The last commit of which all events may go.
    fn through(&self, now: Timestamp) -> Option<Position> {
        let excess = self.count.saturating_sub(self.retention.count);
        let expired_before = now.plus(Duration::from_nanos(-self.retention.age.as_nanos()));
        let going = self.oldest.iter().enumerate();
        let going = going.take_while(|(place, (_, at))| *place < excess || *at <= expired_before);
        going.last().map(|(_, (position, _))| *position)
    }

    fn look(&mut self) -> Result<(), JournalError> {
        let from = EventId::end_of(self.trimmed_through);
        let found = self.reader.events_after(from, CHUNK)?;
        self.oldest = found.into_iter().map(|(id, event)| (id.position, event.at)).collect();
        // Those that are there and cannot be found would be looked for again with every batch.
        if self.oldest.is_empty() {
            self.count = 0;
        }
        Ok(())
    }

    /// A batch is durable.
    pub(super) fn committed(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.count += batch.events.len();
        if let Some(through) = batch.trim_through {
            self.trimmed_through = through;
            self.oldest.clear();
            self.count = self.reader.snapshot()?.count(Table::Events)?;
        }
        Ok(())
    }
}
