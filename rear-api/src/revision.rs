//! Where an answer stands in the history of the ledger: the header of every answer, and the ids of events.

use std::fmt;
use std::str::FromStr;

use rear_engine::Position;
use thiserror::Error;

/// The header that names the state which an answer was made from, as `INCARNATION.NUMBER`: a [`Position`].
pub const REVISION_HEADER: &str = "REAR-Revision";

/// The id of an event, `INCARNATION.NUMBER-N`: the commit that it was told in, and its place there.
///
/// ```
/// use rear_api::revision::EventId;
///
/// let id: EventId = "2.41-3".parse()?;
/// assert_eq!((id.revision.number, id.place), (41, 3));
/// # Ok::<(), rear_api::revision::EventIdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The commit.
    pub revision: Position,
    /// Its place among the events of that commit.
    pub place: u32,
}

/// A text that is not the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the id of an event is INCARNATION.NUMBER-N, three whole numbers")]
pub struct EventIdError;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.revision, self.place)
    }
}

impl FromStr for EventId {
    type Err = EventIdError;

    fn from_str(text: &str) -> Result<Self, EventIdError> {
        let (revision, place) = text.split_once('-').ok_or(EventIdError)?;
        let id = Self {
            revision: revision.parse().map_err(|_| EventIdError)?,
            place: place.parse().map_err(|_| EventIdError)?,
        };
        // One event has one id: no sign, no leading zero.
        if id.to_string() == text { Ok(id) } else { Err(EventIdError) }
    }
}
