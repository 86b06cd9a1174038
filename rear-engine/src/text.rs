//! Short texts from outside that are shown to people: one line, bounded, without control characters.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Enough for a sentence, a name or a URL.
pub const MAX_LINE_LENGTH: usize = 1024;

/// One line of text that cannot break out of a log line or a terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Line(Box<str>);

/// Why a text was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LineError {
    /// More than [`MAX_LINE_LENGTH`] bytes.
    #[error("at most {MAX_LINE_LENGTH} bytes of text")]
    TooLong,
    /// A character that changes what a terminal or a log shows.
    #[error("no control characters in this text")]
    Control,
}

impl Line {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Line {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        if text.len() > MAX_LINE_LENGTH {
            return Err(LineError::TooLong);
        }
        if text.chars().any(misleads) {
            return Err(LineError::Control);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Control characters, line separators, and those that turn the direction of what follows.
#[must_use]
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
