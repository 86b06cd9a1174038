//! A line on the standard error while something takes longer than a second; gone before anything else is printed.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::time::{Instant, interval_at};

use super::streams::tell;
use super::terminal::is_terminal;

/// What takes less is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where progress is shown: on a terminal only, a log has no use for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    shown: bool,
}

/// The line that is shown; removed when dropped.
struct Line {
    drawn: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { shown: is_terminal(io::stderr()) }
    }

    /// Waits for something; says what for and how long already.
    pub(crate) async fn during<T>(self, what: &str, doing: impl Future<Output = T>) -> T {
        if !self.shown {
            return doing.await;
        }
        tokio::pin!(doing);
        let start = Instant::now();
        let mut tick = interval_at(start + PATIENCE, PATIENCE);
        let mut line = Line { drawn: false };
        loop {
            tokio::select! {
                done = &mut doing => return done,
                _ = tick.tick() => line.draw(&format!("{what} ({} s)", start.elapsed().as_secs())),
            }
        }
    }
}

impl Line {
    fn draw(&mut self, text: &str) {
        self.drawn = true;
        tell(&format!("\r\x1b[2K{text}"));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.drawn {
            tell("\r\x1b[2K");
        }
    }
}
