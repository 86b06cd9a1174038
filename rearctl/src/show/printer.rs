//! Prints things one after the other: whole lists page by page, and streams without an end.

use super::{Described, Shown};
use crate::failure::Failure;
use crate::output::{
    Cell, Colours, Format, Progress, Table, compact, document, member, pretty, printable, put,
};

/// Where and how things are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    /// Whether tables have a heading.
    pub(crate) headed: bool,
    /// Of the standard output.
    pub(crate) colours: Colours,
    pub(crate) progress: Progress,
}

impl Output {
    /// One thing alone.
    pub(crate) fn one<T: Shown>(self, it: &T) -> Result<(), Failure> {
        match self.format {
            Format::Json => put(&(pretty(it) + "\n")),
            Format::Yaml => put(&document(it)),
            Format::Table | Format::Wide | Format::Name => Printer::list(self).items(&[it]),
        }
    }

    /// One thing on many lines.
    pub(crate) fn described<T: Described>(self, it: &T) -> Result<(), Failure> {
        match self.format {
            Format::Table | Format::Wide => {
                put(&it.describe(rear_agent_sdk::now()).text(self.colours))
            }
            Format::Json | Format::Yaml | Format::Name => self.one(it),
        }
    }
}

/// Prints many things of one kind. What it keeps is the widths of columns.
pub(crate) struct Printer {
    output: Output,
    table: Option<Table>,
    printed: usize,
    /// A stream has no end, so that each of its members stands for itself.
    stream: bool,
}

impl Printer {
    /// A list, which is ended by [`Self::end`].
    pub(crate) fn list(output: Output) -> Self {
        Self { output, table: None, printed: 0, stream: false }
    }

    /// A stream.
    pub(crate) fn stream(output: Output) -> Self {
        Self { stream: true, ..Self::list(output) }
    }

    /// How many were printed.
    pub(crate) fn printed(&self) -> usize {
        self.printed
    }

    /// Some more.
    pub(crate) fn items<T: Shown>(&mut self, items: &[&T]) -> Result<(), Failure> {
        if items.is_empty() {
            return Ok(());
        }
        let now = rear_agent_sdk::now();
        let text = match self.output.format {
            Format::Table => self.rows::<T>(T::HEADING, items, |it| it.row(now)),
            Format::Wide => self.rows::<T>(T::WIDE, items, |it| it.wide_row(now)),
            Format::Json => self.each(items, |it, first| self.json(it, first)),
            Format::Yaml => self.each(items, |it, first| self.yaml(it, first)),
            Format::Name => {
                self.each(items, |it, _| format!("{}/{}\n", T::KIND, printable(&it.name())))
            }
        };
        self.printed += items.len();
        put(&text)
    }

    /// The end of a list.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        match (self.output.format, self.printed) {
            (Format::Json | Format::Yaml, 0) => put("[]\n"),
            (Format::Json, _) => put("\n]\n"),
            _ => Ok(()),
        }
    }

    fn rows<T>(
        &mut self,
        heading: &'static [&'static str],
        items: &[&T],
        row: impl Fn(&T) -> Vec<Cell>,
    ) -> String {
        let rows: Vec<Vec<Cell>> = items.iter().map(|it| row(it)).collect();
        let Output { headed, colours, .. } = self.output;
        let table = self.table.get_or_insert_with(|| Table::new(heading, headed, colours));
        table.rows(&rows)
    }

    fn each<T>(&self, items: &[&T], text: impl Fn(&T, bool) -> String) -> String {
        let numbered = items.iter().zip(self.printed..);
        numbered.map(|(it, place)| text(it, place == 0)).collect()
    }

    fn json<T: Shown>(&self, it: &T, first: bool) -> String {
        if self.stream {
            return compact(it) + "\n";
        }
        let before = if first { "[\n  " } else { ",\n  " };
        format!("{before}{}", pretty(it).replace('\n', "\n  "))
    }

    fn yaml<T: Shown>(&self, it: &T, first: bool) -> String {
        match (self.stream, first) {
            (false, _) => member(it),
            (true, true) => document(it),
            (true, false) => format!("---\n{}", document(it)),
        }
    }
}
