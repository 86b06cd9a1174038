//! How things of the broker's look: a row, a wider row, a description, a name.

mod cluster;
mod event;
mod instruction;
mod printer;
mod ranking;
mod reservation;
mod span;

pub(crate) use cluster::states;
pub(crate) use event::Told;
pub(crate) use instruction::Instruction;
pub(crate) use printer::{Output, Printer};
pub(crate) use ranking::{explanation, fit_in_one_line};
pub(crate) use reservation::is_over;
pub(crate) use span::rough;

use rear_agent_sdk::communicator::Timestamp;
use serde::Serialize;

use crate::output::{Cell, Colours, Style, indented, printable};

/// Something that can be printed in every format.
pub(crate) trait Shown: Serialize {
    /// What there is of it, in the plural: the first half of its name.
    const KIND: &'static str;
    /// The titles of a row.
    const HEADING: &'static [&'static str];
    /// The titles of a wide row.
    const WIDE: &'static [&'static str];

    /// The second half of its name.
    fn name(&self) -> String;

    /// As many cells as [`Self::HEADING`] has titles.
    fn row(&self, now: Timestamp) -> Vec<Cell>;

    /// As many cells as [`Self::WIDE`] has titles.
    fn wide_row(&self, now: Timestamp) -> Vec<Cell>;
}

/// Something that can be described on many lines.
pub(crate) trait Described: Shown {
    fn describe(&self, now: Timestamp) -> Description;
}

/// Lines of `Title: value`, some of them below a title.
#[derive(Default)]
pub(crate) struct Description(Vec<Line>);

enum Line {
    Field(String, String, Style),
    Block(String, String),
}

/// Where values begin.
const TITLES: usize = 16;

impl Description {
    /// A field; left out when there is nothing to say.
    pub(crate) fn field(self, title: &str, value: &str) -> Self {
        self.styled(title, value, Style::Plain)
    }

    pub(crate) fn styled(mut self, title: &str, value: &str, style: Style) -> Self {
        if !value.is_empty() {
            self.0.push(Line::Field(title.to_owned(), printable(value).into_owned(), style));
        }
        self
    }

    /// A text of several lines below a title, which is ours and printed as it is.
    pub(crate) fn block(mut self, title: &str, text: String) -> Self {
        if !text.is_empty() {
            self.0.push(Line::Block(title.to_owned(), text));
        }
        self
    }

    pub(crate) fn text(&self, colours: Colours) -> String {
        self.0.iter().map(|line| line.text(colours)).collect()
    }
}

impl Line {
    fn text(&self, colours: Colours) -> String {
        match self {
            Self::Field(title, value, style) => {
                let title = format!("{title}:");
                format!("{title:<TITLES$}{}\n", colours.paint(*style, value))
            }
            Self::Block(title, text) => {
                format!("{title}:\n{}", indented(text))
            }
        }
    }
}
