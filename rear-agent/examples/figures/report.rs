//! What was measured: for people line by line, or for programs as JSON.

use std::io::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Outcome;

/// Figures, told as they come or all in the end.
pub(super) struct Report {
    figures: Map<String, Value>,
    as_json: bool,
}

impl Report {
    pub(super) fn new(as_json: bool) -> Self {
        Self { figures: Map::new(), as_json }
    }

    /// A figure, and how people read it.
    pub(super) fn put(&mut self, name: &str, figure: Value, line: &str) -> Outcome<()> {
        self.figures.insert(name.to_owned(), figure);
        if !self.as_json {
            writeln!(std::io::stdout(), "{line}")?;
        }
        Ok(())
    }

    /// Times of one kind; their median.
    pub(super) fn times(
        &mut self,
        name: &str,
        what: &str,
        times: &mut [Duration],
    ) -> Outcome<Duration> {
        times.sort_unstable();
        let at = |percent: usize| {
            let place = times.len().saturating_sub(1) * percent / 100;
            times.get(place).copied().unwrap_or_default()
        };
        let [p50, p95, p99, max] = [50, 95, 99, 100].map(at);
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let figure = json!({ "count": times.len(), "p50_ms": ms(p50), "p95_ms": ms(p95),
            "p99_ms": ms(p99), "max_ms": ms(max) });
        let line = format!("{what}: p50 {p50:.1?}, p99 {p99:.1?}, of {}", times.len());
        self.put(name, figure, &line)?;
        Ok(p50)
    }

    /// All of them, if nobody was told yet.
    pub(super) fn end(self) -> Outcome<()> {
        if self.as_json {
            writeln!(std::io::stdout(), "{}", Value::Object(self.figures))?;
        }
        Ok(())
    }
}
