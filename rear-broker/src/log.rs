//! The log: text on a terminal, JSON elsewhere; one event, one line, whatever is in it.

use std::io::{self, IsTerminal, Stderr, Write};

use thiserror::Error;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::Handle;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::{Config, LogFormat};

/// The log of this process, whose level can be changed.
#[derive(Debug, Clone)]
pub struct Log(Handle<EnvFilter, Registry>);

/// Why there is no log, or no other level.
#[derive(Debug, Error)]
pub enum LogError {
    /// The level cannot be used.
    #[error("the level cannot be used")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// There is a log already.
    #[error("there is a log already")]
    Init(#[from] TryInitError),
    /// It cannot be changed any more.
    #[error("the log cannot be changed any more")]
    Reload(#[from] reload::Error),
}

impl Log {
    /// Starts the log of this process, on its standard error.
    pub fn start(config: &Config) -> Result<Self, LogError> {
        let (filter, handle) = reload::Layer::new(EnvFilter::try_new(&config.log_level.0)?);
        let terminal = io::stderr().is_terminal();
        let text = match config.log_format {
            LogFormat::Auto => terminal,
            LogFormat::Text => true,
            LogFormat::Json => false,
        };
        let colours = text && terminal && std::env::var_os("NO_COLOR").is_none();
        let events = Registry::default().with(filter);
        let form = match (text, colours) {
            (false, _) => Form::Json,
            (true, false) => Form::Text,
            (true, true) => Form::Colours,
        };
        let layer = fmt::layer().with_ansi(colours).with_writer(Lines(form));
        if text {
            events.with(layer).try_init()?;
        } else {
            let layer = layer.json().flatten_event(true).with_span_list(false);
            events.with(layer).try_init()?;
        }
        Ok(Self(handle))
    }

    /// From now on so much is logged.
    pub fn set_level(&self, config: &Config) -> Result<(), LogError> {
        Ok(self.0.reload(EnvFilter::try_new(&config.log_level.0)?)?)
    }
}

/// Writes each event as one line: names, labels and paths come from outside, and a line break among them would be a line
/// that nobody logged.
#[derive(Debug, Clone, Copy)]
struct Lines(Form);

/// What a line is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Text,
    /// Text with the formatter's own escape sequences.
    Colours,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { form: self.0, out: io::stderr() }
    }
}

struct Line {
    form: Form,
    out: Stderr,
}

impl Write for Line {
    /// Called once for each event.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.out.write_all(in_one_line(&text, self.form).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What the formatter begins a colour or a style with.
const STYLE: &str = "\u{1b}[";

/// The text with its last line break, and every other control character spelt out.
fn in_one_line(text: &str, form: Form) -> String {
    let mut rest = text.strip_suffix('\n').unwrap_or(text);
    let mut written = String::with_capacity(text.len());
    while let Some(at) = rest.find(char::is_control) {
        let (plain, from) = rest.split_at(at);
        written.push_str(plain);
        let style = if form == Form::Colours { style_length(from) } else { 0 };
        let (style, from) = from.split_at(style);
        written.push_str(style);
        let mut letters = from.chars();
        if let (true, Some(control)) = (style.is_empty(), letters.next()) {
            written.push_str(&spelt(control, form));
        }
        rest = if style.is_empty() { letters.as_str() } else { from };
    }
    written.push_str(rest);
    written.push('\n');
    written
}

/// In JSON, a control character stands in a text: its formatter leaves some as they are, which terminals obey.
fn spelt(control: char, form: Form) -> String {
    match form {
        Form::Json => format!("\\u{:04x}", u32::from(control)),
        Form::Text | Form::Colours => control.escape_default().to_string(),
    }
}

/// How long the escape sequence is that a text begins with, if it is one of those that the formatter writes. Others hide what is
/// there, or move it.
fn style_length(text: &str) -> usize {
    let codes = text.strip_prefix(STYLE).and_then(|rest| rest.split_once('m'));
    let own = |code: &str| matches!(code, "0" | "1" | "2" | "3" | "31" | "32" | "33" | "34" | "35");
    let codes = codes.map(|(codes, _)| codes).filter(|codes| codes.split(';').all(own));
    codes.map_or(0, |codes| STYLE.len() + codes.len() + "m".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json_and_has_no_control_characters() {
        let line = "{\"path\":\"/\u{80}\u{85}\u{9f}\u{7f}\u{e9}\"}\n";
        let written = in_one_line(line, Form::Json);
        assert_eq!(written, "{\"path\":\"/\\u0080\\u0085\\u009f\\u007f\u{e9}\"}\n");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&written), read(line));
    }

    #[test]
    fn a_text_is_one_line_without_escape_sequences() {
        let written = in_one_line("a\nb\r\u{1b}[32mc\u{85}\n", Form::Text);
        assert_eq!(written, "a\\nb\\r\\u{1b}[32mc\\u{85}\n");
    }

    #[test]
    fn of_escape_sequences_only_those_of_the_formatter_pass() {
        let same = "\u{1b}[2m2026\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[1;31mx\u{1b}[0m\n";
        assert_eq!(in_one_line(same, Form::Colours), same);
        for other in
            ["[2J", "]0;mine\u{7}", "[8mhidden", "[1;8m", "[m", "[", "", "[32", "[0;m", "c"]
        {
            let written = in_one_line(&format!("x\u{1b}{other}\n"), Form::Colours);
            assert!(!written.trim_end().contains(char::is_control), "{written:?}");
        }
    }
}
