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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
        write!(f, "{}.{}", self.incarnation, self.number)
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let (incarnation, number) = text.split_once('.').ok_or(PositionError)?;
        Ok(Self { incarnation: whole(incarnation)?, number: whole(number)? })
    }
}

/// One position has one text: no sign, no leading zero.
fn whole(text: &str) -> Result<u64, PositionError> {
    let canonical =
        text == "0" || text.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    if !canonical {
        return Err(PositionError);
    }
    text.parse().map_err(|_| PositionError)
}
