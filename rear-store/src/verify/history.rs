//! The event log, read from its beginning: complete, and in agreement with the reservations.

use rear_engine::reservation::Ending;
use rear_engine::{Event, Happening, Reservation, ReservationId, Subject};
use rustc_hash::FxHashMap;

use super::Finding;
use crate::position::EventId;
use crate::records::meta::Meta;

/// What the log has said so far.
#[derive(Default)]
pub(super) struct History {
    last: Option<EventId>,
    /// The phase that the last event of each reservation speaks of.
    told: FxHashMap<ReservationId, &'static str>,
}

impl History {
    /// Events come in the order of their ids.
    pub(super) fn see(&mut self, id: EventId, event: &Event, meta: &Meta) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (from, to) = (meta.trimmed_through, meta.position);
        if id.position > to || id.position <= from {
            findings.push(Finding::EventOutside { id, from, to });
        }
        let expected = match self.last {
            Some(last) if last.position == id.position => last.place.saturating_add(1),
            Some(_) | None => 0,
        };
        if id.place != expected {
            findings.push(Finding::EventMissing(EventId { place: expected, ..id }));
        }
        self.last = Some(id);
        if let (Subject::Reservation(about), Some(phase)) = (&event.subject, phase_after(event)) {
            self.told.insert(*about, phase);
        }
        findings
    }

    /// Whether a reservation is not as its last event says. Of some nothing was told, or no longer.
    pub(super) fn contradicts(&self, kept: &Reservation) -> Option<Finding> {
        let (phase, told) = (kept.phase.name(), *self.told.get(&kept.id)?);
        // A renewal leaves the phase as it was.
        let agrees = told == phase || (told == LIVE && kept.phase.is_live());
        (!agrees).then_some(Finding::Untold { reservation: kept.id, phase, told })
    }
}

const LIVE: &str = "Reserved or Active";

fn phase_after(event: &Event) -> Option<&'static str> {
    match &event.what {
        Happening::Reserved => Some("Reserved"),
        Happening::Activated => Some("Active"),
        Happening::Renewed | Happening::Adopted => Some(LIVE),
        Happening::Ended(Ending::Released(_)) => Some("Released"),
        Happening::Ended(Ending::Failed(_)) => Some("Failed"),
        Happening::Advertised
        | Happening::BecameStale
        | Happening::BecameFresh
        | Happening::BecameOvercommitted
        | Happening::NoLongerOvercommitted
        | Happening::Recovered
        | Happening::Forgotten => None,
    }
}
