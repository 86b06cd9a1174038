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
        let layer = fmt::layer().with_ansi(colours).with_writer(Lines { colours });
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
struct Lines {
    /// The formatter's own escape sequences pass; those in texts it has replaced already.
    colours: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { colours: self.colours, out: io::stderr() }
    }
}

struct Line {
    colours: bool,
    out: Stderr,
}

impl Write for Line {
    /// Called once for each event.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.out.write_all(in_one_line(&text, self.colours).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The text with its last line break, and every other control character spelt out.
pub(crate) fn in_one_line(text: &str, colours: bool) -> String {
    let passes = |letter: char| !letter.is_control() || (colours && letter == '\u{1b}');
    let line = text.strip_suffix('\n').unwrap_or(text);
    let mut written = String::with_capacity(text.len());
    for letter in line.chars() {
        if passes(letter) {
            written.push(letter);
        } else {
            written.extend(letter.escape_default());
        }
    }
    written.push('\n');
    written
}
