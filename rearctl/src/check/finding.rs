//! One thing that was looked at, how it was found, and what can be done about it.

use rear_agent_sdk::communicator::Timestamp;
use serde::Serialize;

use crate::output::{Cell, Colours, Style, printable};
use crate::show::Shown;

/// How something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// As it should be.
    Good,
    /// It works, and will not for long, or is not what one would expect.
    Careful,
    /// It does not work.
    Trouble,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: &'static str,
    pub(crate) verdict: Verdict,
    /// How it was found.
    pub(crate) found: String,
    /// What can be done; always there where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

impl Finding {
    pub(crate) fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Good, found: found.into(), remedy: None }
    }

    pub(crate) fn careful(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into());
        Self { check, verdict: Verdict::Careful, found: found.into(), remedy }
    }

    pub(crate) fn trouble(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { verdict: Verdict::Trouble, ..Self::careful(check, found, remedy) }
    }

    /// Says which of several brokers was found so.
    pub(crate) fn is_of(&mut self, broker: &str) {
        self.found = format!("{broker}: {}", self.found);
    }

    /// For people: a line, and the remedy below it.
    pub(crate) fn text(&self, colours: Colours) -> String {
        let (word, style) = self.verdict.shown();
        let word = colours.paint(style, &format!("{word:<8}"));
        let line = format!("{word} {:<12} {}\n", self.check, printable(&self.found));
        let remedy = self.remedy.as_ref();
        line + &remedy.map_or_else(String::new, |it| format!("{:22}{}\n", "", printable(it)))
    }
}

impl Verdict {
    fn shown(self) -> (&'static str, Style) {
        match self {
            Self::Good => ("ok", Style::Good),
            Self::Careful => ("careful", Style::Careful),
            Self::Trouble => ("TROUBLE", Style::Bad),
        }
    }
}

impl Shown for Finding {
    const KIND: &'static str = "checks";
    const HEADING: &'static [&'static str] = &["VERDICT", "CHECK", "FOUND", "REMEDY"];
    const WIDE: &'static [&'static str] = Self::HEADING;

    fn name(&self) -> String {
        self.check.to_owned()
    }

    fn row(&self, _: Timestamp) -> Vec<Cell> {
        let (word, style) = self.verdict.shown();
        let remedy = self.remedy.as_deref().unwrap_or_default();
        vec![Cell::styled(word, style), self.check.into(), Cell::new(&self.found), remedy.into()]
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        self.row(now)
    }
}
