//! What is wrong with one member of a body, and its path: `resources.allocatable.cpu`, `holding[2].requesterID`.

use std::fmt;

use rear_engine::advertisement::ConsumedError;
use rear_engine::ask::{AskError, UnknownStrategy};
use rear_engine::duration::DurationError;
use rear_engine::id::{ClusterIdError, ReservationIdError};
use rear_engine::labels::LabelsError;
use rear_engine::price::PriceError;
use rear_engine::quantity::QuantityError;
use rear_engine::text::{LineError, misleads};
use thiserror::Error;

use crate::moment::MomentError;
use crate::reservation::MAX_CONSTRAINT_BYTES;

/// How many characters of what was sent an error may repeat: the longest list of expected members, and a name.
const MAX_ECHO: usize = 400;

/// A member that cannot be what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Where, from the outside in; empty for the whole body.
    pub path: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a member.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// It is missing, unknown, there twice, or of another type.
    #[error("{0}")]
    Shape(String),
    /// Not a quantity, or not an amount.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Not a cluster id.
    #[error(transparent)]
    ClusterId(#[from] ClusterIdError),
    /// Not a reservation id.
    #[error(transparent)]
    ReservationId(#[from] ReservationIdError),
    /// Not a moment.
    #[error(transparent)]
    Moment(#[from] MomentError),
    /// Not a duration.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// Nothing is asked for, or for too short or too long.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Not a price, or not a currency.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// Labels beyond the limits.
    #[error(transparent)]
    Labels(#[from] LabelsError),
    /// A request that names more of them than anyone reads.
    #[error("labels of a request have at most {MAX_CONSTRAINT_BYTES} bytes together")]
    Constraints,
    /// Not one line of text.
    #[error(transparent)]
    Text(#[from] LineError),
    /// A text is missing.
    #[error("a text is missing: it is empty")]
    EmptyText,
    /// Not a strategy.
    #[error(transparent)]
    Strategy(#[from] UnknownStrategy),
    /// A report of consumption that contradicts itself.
    #[error(transparent)]
    Consumed(#[from] ConsumedError),
    /// An epoch without a sequence, or the other way round, puts nothing in order.
    #[error("epoch and sequence go together")]
    HalfAnOrder,
}

impl Invalid {
    /// A fault that was found while the members were told apart.
    pub(super) fn shape(path: &str, error: &serde_json::Error) -> Self {
        // The path says where, better than a line and a column of text that was made by a program.
        let position = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let text = text.strip_suffix(&position).unwrap_or(&text);
        let whole_body = ".";
        let path = if path == whole_body { "" } else { path };
        Self { path: echo(path), fault: Fault::Shape(echo(text)) }
    }

    /// The same fault, inside of this member.
    pub(crate) fn under(mut self, member: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{member}{dot}{}", self.path);
        self
    }
}

/// Names that a sender chose, safe to show to people: bounded, without what would change a terminal or a log.
fn echo(text: &str) -> String {
    let harmless =
        |character| if misleads(character) { char::REPLACEMENT_CHARACTER } else { character };
    let mut characters = text.chars().map(harmless);
    let mut shown: String = characters.by_ref().take(MAX_ECHO).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.fault.fmt(f)
    }
}

impl<E> From<E> for Invalid
where
    Fault: From<E>,
{
    fn from(error: E) -> Self {
        Self { path: String::new(), fault: error.into() }
    }
}

/// Says where something failed, on its way out.
pub(crate) trait At<T> {
    /// In this member.
    fn at(self, member: &str) -> Result<T, Invalid>;

    /// In this element of this member.
    fn at_element(self, member: &str, index: usize) -> Result<T, Invalid>;
}

impl<T, E: Into<Invalid>> At<T> for Result<T, E> {
    fn at(self, member: &str) -> Result<T, Invalid> {
        self.map_err(|error| error.into().under(member))
    }

    fn at_element(self, member: &str, index: usize) -> Result<T, Invalid> {
        self.map_err(|error| error.into().under(&format!("{member}[{index}]")))
    }
}
