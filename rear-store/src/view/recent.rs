//! The last events, kept in memory: whoever follows the feed reads them from here and not from the disk.

use std::collections::VecDeque;
use std::sync::Arc;

use rear_engine::{ClusterId, Event, Fleet, Subject};

use crate::position::{EventId, Position};

/// How many events are at hand: a subscriber that is further behind reads from the disk.
pub const RECENT: usize = 16_384;

/// An event with its name and whom it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Which one.
    pub id: EventId,
    /// What happened.
    pub event: Event,
    /// The sides of the reservation, or the cluster, that it is about.
    pub concerns: Vec<ClusterId>,
}

impl Told {
    pub(crate) fn new(position: Position, place: u32, event: Event, fleet: &Fleet) -> Self {
        let concerns = concerned(&event.subject, fleet).unwrap_or_default();
        Self { id: EventId { position, place }, event, concerns }
    }
}

/// Whom something concerns; `None` for a reservation that is no longer remembered: nobody can say.
pub(crate) fn concerned(subject: &Subject, fleet: &Fleet) -> Option<Vec<ClusterId>> {
    match subject {
        Subject::Fleet => Some(Vec::new()),
        Subject::Cluster(id) => Some(vec![id.clone()]),
        Subject::Reservation(id) => {
            let kept = fleet.reservation(*id)?;
            Some(vec![kept.requester().clone(), kept.provider.clone()])
        }
    }
}

/// The last events.
#[derive(Debug)]
pub(crate) struct Recent {
    /// Everything after this is here.
    after: EventId,
    events: VecDeque<Arc<Told>>,
}

impl Recent {
    pub(super) fn new(position: Position) -> Self {
        Self { after: EventId::end_of(position), events: VecDeque::new() }
    }

    pub(super) fn push(&mut self, told: Told) {
        if self.events.len() == RECENT
            && let Some(oldest) = self.events.pop_front()
        {
            self.after = oldest.id;
        }
        self.events.push_back(Arc::new(told));
    }

    /// The newest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = &Arc<Told>> {
        self.events.iter().rev()
    }

    /// Everything after an event; `None` if some of it is no longer here.
    pub(crate) fn after(&self, last: EventId) -> Option<impl Iterator<Item = &Arc<Told>>> {
        let start = self.events.partition_point(|told| told.id <= last);
        (last >= self.after).then(|| self.events.range(start..))
    }
}
