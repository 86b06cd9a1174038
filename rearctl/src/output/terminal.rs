//! The terminal itself: whether there is one, how large it is, and that it is left as it was found.

use std::io::{self, Write};
use std::sync::Mutex;

use rustix::fd::AsFd;
use rustix::termios::{
    LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};

/// What a terminal is taken for that does not say how large it is.
const USUAL: (usize, usize) = (80, 24);

/// How the terminal was, while a view has it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

pub(crate) fn is_terminal(stream: impl AsFd) -> bool {
    isatty(stream)
}

/// Columns and lines.
pub(crate) fn size(stream: impl AsFd) -> (usize, usize) {
    match tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => USUAL,
    }
}

/// A screen of its own, with keys that arrive one by one. Left when dropped, or when [`Restored::restore`] is called
/// by whoever ends the program without dropping.
pub(crate) struct Restored;

impl Restored {
    pub(crate) fn take() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &modes)?;
        *lock() = Some(before);
        let mut out = io::stdout();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(Self)
    }

    /// Leaves the screen, if a view has it. Errors have nobody to be told to.
    pub(crate) fn restore() {
        if let Some(before) = lock().take() {
            let mut out = io::stdout();
            drop(out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush()));
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        Self::restore();
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
