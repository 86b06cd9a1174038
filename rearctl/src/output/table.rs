//! Tables for people: columns as wide as what they hold, page after page.

use super::colour::{Colours, Style};
use super::printable::printable;

/// Between two columns.
const GAP: &str = "   ";

/// The longest text in a column; what is longer is cut and marked. `-o json` has all of it.
const MAX_WIDTH: usize = 80;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A text of anyone's.
    pub(crate) fn new(text: &str) -> Self {
        Self::styled(text, Style::Plain)
    }

    pub(crate) fn styled(text: &str, style: Style) -> Self {
        let text = if text.is_empty() { "-".into() } else { printable(text) };
        Self { text: cut(&text), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text.as_ref())
    }
}

/// A table that is printed in pieces. Columns become wider with later pieces and never narrower.
pub(crate) struct Table {
    widths: Vec<usize>,
    heading: Option<&'static [&'static str]>,
    colours: Colours,
}

impl Table {
    pub(crate) fn new(heading: &'static [&'static str], headed: bool, colours: Colours) -> Self {
        let widths = heading.iter().map(|title| if headed { title.len() } else { 0 }).collect();
        Self { widths, heading: headed.then_some(heading), colours }
    }

    /// Some more rows, with the heading before the first.
    pub(crate) fn rows(&mut self, rows: &[Vec<Cell>]) -> String {
        for row in rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        let heading = self.heading.take().map(|titles| {
            let title = |title: &&str| Cell { text: (*title).to_owned(), style: Style::Heading };
            titles.iter().map(title).collect::<Vec<_>>()
        });
        heading.iter().chain(rows).map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[Cell]) -> String {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&self.widths).enumerate() {
            if place > 0 {
                line.push_str(GAP);
            }
            line.push_str(&self.colours.paint(cell.style, &cell.text));
            if place + 1 < row.len() {
                let missing = width.saturating_sub(cell.text.chars().count());
                line.extend(std::iter::repeat_n(' ', missing));
            }
        }
        line.push('\n');
        line
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_WIDTH {
        return text.to_owned();
    }
    text.chars().take(MAX_WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_with_later_pieces_and_lines_have_no_blanks_at_their_end() {
        let mut table = Table::new(&["NAME", "CPU"], true, Colours::NONE);
        assert_eq!(table.rows(&[vec!["rome".into(), "".into()]]), "NAME   CPU\nrome   -\n");
        let later = [vec!["florence".into(), "2".into()], vec!["a".into(), "1".into()]];
        assert_eq!(table.rows(&later), "florence   2\na          1\n");
    }

    #[test]
    fn texts_without_end_are_cut() {
        let cell = Cell::new(&"x".repeat(200));
        assert_eq!(cell.text.chars().count(), MAX_WIDTH);
        assert!(cell.text.ends_with('…'));
    }
}
