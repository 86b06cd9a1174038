//! Which ledger an object was written from, and how far that ledger was: `LEDGER@INCARNATION.NUMBER`.

use std::fmt;
use std::str::FromStr;

use rear_engine::Position;
use thiserror::Error;

/// The digits of a ledger's id.
const DIGITS: usize = 32;

/// Which ledger, and how far it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The ledger, for ever.
    pub ledger: u128,
    /// The commit.
    pub position: Position,
}

/// A text that is no mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a mark is the id of a ledger, `@` and a revision")]
pub struct NoMark;

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}@{}", self.ledger, self.position)
    }
}

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let (ledger, position) = text.split_once('@').ok_or(NoMark)?;
        if ledger.len() != DIGITS {
            return Err(NoMark);
        }
        let ledger = u128::from_str_radix(ledger, 16).map_err(|_| NoMark)?;
        Ok(Self { ledger, position: position.parse().map_err(|_| NoMark)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_from_its_text() {
        let mark = Mark { ledger: 0xab, position: Position { incarnation: 1, number: 42 } };
        assert_eq!(mark.to_string(), format!("{:032x}@1.42", 0xab));
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for bad in ["", "ab@1.42", "@", "1.42"] {
            assert_eq!(bad.parse::<Mark>(), Err(NoMark), "{bad}");
        }
    }
}
