//! The feed: what happened after an event, from memory where it is recent, from the disk where it is not.

use std::sync::{Arc, PoisonError, RwLock};

use rear_engine::ClusterId;
use thiserror::Error;

use crate::journal::{JournalError, Reader};
use crate::position::EventId;
use crate::rows::{read_events_after, read_meta};
use crate::view::{MAX_SCANNED, Told, View, concerned};

/// Some events, and how far was looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// In the order in which they happened.
    pub events: Vec<Arc<Told>>,
    /// Nothing else happened up to here that concerns the subscriber: ask on from here.
    pub through: EventId,
    /// Whether there was nothing more to look at.
    pub complete: bool,
}

/// Why the feed cannot go on from an event.
#[derive(Debug, Error)]
pub enum FeedError {
    /// Of another incarnation, kept no longer, or not told yet; or something happened since to a
    /// reservation that is no longer remembered, and it cannot be said whom that concerned.
    #[error("what happened after event {0} is not known any more: list again")]
    Gone(EventId),
    /// It cannot be read.
    #[error("the event log cannot be read")]
    Journal(#[from] JournalError),
}

pub(crate) fn stretch(
    view: &RwLock<View>,
    reader: &dyn Reader,
    last: EventId,
    concerning: Option<&ClusterId>,
    limit: usize,
) -> Result<Stretch, FeedError> {
    let read = || view.read().unwrap_or_else(PoisonError::into_inner);
    let wanted = |told: &Told| concerning.is_none_or(|cluster| told.concerns.contains(cluster));
    let limit = limit.clamp(1, MAX_SCANNED);
    {
        let view = read();
        check(&view, last)?;
        if let Some(recent) = view.recent().after(last) {
            return Ok(take(recent.cloned(), wanted, limit, view.position().into()));
        }
    }
    // Not under the lock: the disk may be slow.
    let rows = reader.snapshot()?;
    let mut found = read_events_after(&*rows, last, MAX_SCANNED)?;
    // They may have been trimmed since, which is true of the rows before it is shown.
    if last < EventId::end_of(read_meta(&*rows)?.trimmed_through) {
        return Err(FeedError::Gone(last));
    }
    drop(rows);
    let view = read();
    check(&view, last)?;
    // What is durable and not yet shown is told once it is: before, nobody knows whom it concerns.
    found.retain(|(id, _)| id.position <= view.position());
    let more = found.len() == MAX_SCANNED;
    let end = found.last().map_or(last, |(id, _)| *id);
    let told = found.into_iter().map(|(id, event)| {
        let concerns = concerned(&event.subject, view.fleet());
        if concerns.is_none() && concerning.is_some() {
            return Err(FeedError::Gone(last));
        }
        Ok(Arc::new(Told { id, event, concerns: concerns.unwrap_or_default() }))
    });
    let told = told.collect::<Result<Vec<_>, _>>()?;
    let stretch = take(told.into_iter(), wanted, limit, end);
    Ok(Stretch { complete: stretch.complete && !more, ..stretch })
}

fn check(view: &View, last: EventId) -> Result<(), FeedError> {
    let present = view.position();
    let known = last.position.incarnation == present.incarnation && last.position <= present;
    let kept = last >= EventId::end_of(view.trimmed_through());
    if known && kept { Ok(()) } else { Err(FeedError::Gone(last)) }
}

/// Takes what is wanted, and looks at no more than is good for everyone else.
fn take(
    events: impl Iterator<Item = Arc<Told>>,
    wanted: impl Fn(&Told) -> bool,
    limit: usize,
    end: EventId,
) -> Stretch {
    let mut stretch = Stretch { events: Vec::new(), through: end, complete: true };
    let mut events = events.enumerate().peekable();
    while let Some((looked_at, told)) = events.next() {
        let id = told.id;
        if wanted(&told) {
            stretch.events.push(told);
        }
        let enough = stretch.events.len() == limit || looked_at + 1 == MAX_SCANNED;
        if enough && events.peek().is_some() {
            return Stretch { through: id, complete: false, ..stretch };
        }
    }
    stretch
}
