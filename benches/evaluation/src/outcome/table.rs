//! Figures in rows: each keeps its unit, for programs and for people.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A table of figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows, each as long as the heads.
    pub rows: Vec<Vec<Cell>>,
}

/// A figure with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Words.
    Text(String),
    /// How many.
    Count(u64),
    /// A time in milliseconds.
    Ms(f64),
    /// A time in seconds.
    Seconds(f64),
    /// A share of a hundred.
    Percent(f64),
    /// So many bytes.
    Bytes(u64),
    /// So many in a second.
    PerSecond(f64),
    /// So many times another figure of the same run.
    Times(f64),
    /// Nothing was measured.
    Nothing,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(ToString::to_string).collect();
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// As Markdown; numbers to the right.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let numeric = |column: usize| {
            self.rows.iter().all(|row| !matches!(row.get(column), Some(Cell::Text(_))))
        };
        let rule = (0..self.columns.len()).map(|at| if numeric(at) { "--:" } else { "---" });
        let mut text = line(self.columns.iter().map(|head| escaped(head)).collect());
        text += &line(rule.map(str::to_owned).collect());
        for row in &self.rows {
            text += &line(row.iter().map(Cell::shown).collect());
        }
        text
    }
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// How many there are of something.
    pub fn count(many: impl TryInto<u64>) -> Self {
        Self::Count(many.try_into().unwrap_or(u64::MAX))
    }

    /// A time in milliseconds.
    #[must_use]
    pub fn ms(time: Duration) -> Self {
        Self::Ms(time.as_secs_f64() * 1000.0)
    }

    /// How many times another figure one is; nothing if that other was not measured.
    #[must_use]
    pub fn times(figure: f64, of: f64) -> Self {
        if of > 0.0 { Self::Times(figure / of) } else { Self::Nothing }
    }

    /// As people read it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => escaped(text),
            Self::Count(many) => grouped(*many),
            Self::Ms(time) => format!("{} ms", digits(*time)),
            Self::Seconds(time) => format!("{} s", digits(*time)),
            Self::Percent(share) => format!("{} %", digits(*share)),
            Self::Bytes(bytes) => sized(*bytes),
            Self::PerSecond(rate) => format!("{}/s", digits(*rate)),
            Self::Times(ratio) => format!("{}×", digits(*ratio)),
            Self::Nothing => "–".to_owned(),
        }
    }
}

/// Three digits that matter; whole numbers from a hundred on.
pub(crate) fn digits(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if size >= 1000.0 => grouped_float(number),
        _ if size >= 100.0 => format!("{number:.0}"),
        _ if size >= 10.0 => format!("{number:.1}"),
        _ if size >= 1.0 || size == 0.0 => format!("{number:.2}"),
        _ if size >= 0.1 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a figure for people")]
fn grouped_float(number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.abs().round() as u64))
}

/// Thousands apart, so that they can be counted.
fn grouped(number: u64) -> String {
    let plain = number.to_string();
    let mut text = String::new();
    for (at, digit) in plain.char_indices() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a size for people")]
fn sized(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", digits(bytes as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", digits(bytes as f64 / 1e6)),
        _ => format!("{} GB", digits(bytes as f64 / 1e9)),
    }
}

/// A bar would be the end of a cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown_with_its_numbers_to_the_right() {
        let mut table = Table::new("t", &["who", "p50", "of | echo"]);
        let p50 = Cell::ms(Duration::from_micros(1234));
        table.row([Cell::text("a|b"), p50, Cell::times(6.0, 4.0)]);
        assert_eq!(
            table.markdown(),
            "| who | p50 | of \\| echo |\n| --- | --: | --: |\n| a\\|b | 1.23 ms | 1.50× |\n"
        );
    }

    #[test]
    fn figures_have_the_digits_that_matter() {
        let shown = [0.0, 0.01234, 0.1234, 1.234, 12.34, 123.4, 1_234_567.8].map(digits);
        let group = '\u{202f}';
        let large = format!("1{group}234{group}568");
        assert_eq!(shown, ["0.00", "0.0123", "0.123", "1.23", "12.3", "123", &large]);
        assert_eq!(Cell::Bytes(5_700_000).shown(), "5.70 MB");
        assert_eq!(Cell::times(1.0, 0.0), Cell::Nothing);
    }
}
