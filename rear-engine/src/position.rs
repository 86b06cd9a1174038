//! Where something stands in the history of a ledger: `INCARNATION.NUMBER`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A point in the history: the life of the ledger, and the number of the commit in it.
///
/// Every restore from a backup starts a new incarnation, in which numbers mean something else: what was
/// remembered of an older one is answered with "list again".
///
/// ```
/// use rear_engine::Position;
///
/// let position: Position = "2.41".parse()?;
/// assert_eq!(position.next(), Some("2.42".parse()?));
/// # Ok::<(), rear_engine::position::PositionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Which life of the ledger.
    pub incarnation: u64,
    /// Which commit in it; 0 before the first.
    pub number: u64,
}

/// A text that is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a position is INCARNATION.NUMBER, two whole numbers")]
pub struct PositionError;

impl Position {
    /// The beginning of an incarnation.
    #[must_use]
    pub const fn start_of(incarnation: u64) -> Self {
        Self { incarnation, number: 0 }
    }

    /// The next commit; `None` after the last that can be counted.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Some(Self { number: self.number.checked_add(1)?, ..self })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = itoa::Buffer::new();
        f.write_str(digits.format(self.incarnation))?;
        f.write_str(".")?;
        f.write_str(digits.format(self.number))
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let (incarnation, number) = text.split_once('.').ok_or(PositionError)?;
        let whole = |text| whole_number(text).ok_or(PositionError);
        Ok(Self { incarnation: whole(incarnation)?, number: whole(number)? })
    }
}

/// One position has one text: no sign, no leading zero.
fn whole_number(text: &str) -> Option<u64> {
    let canonical =
        text == "0" || text.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    if canonical { text.parse().ok() } else { None }
}

/// Which event: the commit that it was told in, and its place among the events of that commit. Written
/// `INCARNATION.NUMBER-PLACE`.
///
/// ```
/// use rear_engine::EventId;
///
/// let id: EventId = "2.41-3".parse()?;
/// assert_eq!((id.position.number, id.place), (41, 3));
/// # Ok::<(), rear_engine::position::EventIdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The commit.
    pub position: Position,
    /// Which of its events, from 0.
    pub place: u32,
}

/// A text that does not name an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an event is INCARNATION.NUMBER-PLACE, three whole numbers")]
pub struct EventIdError;

impl EventId {
    /// After every event of a commit.
    #[must_use]
    pub const fn end_of(position: Position) -> Self {
        Self { position, place: u32::MAX }
    }

    /// The smallest name after this one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let Self { position, place } = self;
        match place.checked_add(1) {
            Some(place) => Some(Self { position, place }),
            None => position.next().map(|position| Self { position, place: 0 }),
        }
    }
}

impl From<Position> for EventId {
    fn from(position: Position) -> Self {
        Self::end_of(position)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.position, self.place)
    }
}

impl FromStr for EventId {
    type Err = EventIdError;

    fn from_str(text: &str) -> Result<Self, EventIdError> {
        let (position, place) = text.split_once('-').ok_or(EventIdError)?;
        let place = whole_number(place).and_then(|place| place.try_into().ok());
        Ok(Self {
            position: position.parse().map_err(|_| EventIdError)?,
            place: place.ok_or(EventIdError)?,
        })
    }
}
