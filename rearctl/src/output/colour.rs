//! Colours, which say nothing that the words do not say: only where a terminal shows them and nobody objects.

use std::env;

use super::terminal::is_terminal;

/// How a word is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    #[default]
    Plain,
    Good,
    Careful,
    Bad,
    Faint,
    Heading,
}

/// Whether a stream has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colours(bool);

impl Colours {
    pub(crate) const NONE: Self = Self(false);

    /// For a stream: <https://no-color.org>, and a terminal that has colours.
    pub(crate) fn of(stream: impl rustix::fd::AsFd) -> Self {
        let objected = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(is_terminal(stream) && !objected && !dumb)
    }

    /// A text in its style.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Good => "32",
            Style::Careful => "33",
            Style::Bad => "31",
            Style::Faint => "2",
            Style::Heading => "1",
        };
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
