//! Data to the standard output, everything else to the standard error.

use std::io::{self, Write};

use super::printable::printable;
use crate::failure::Failure;

/// Prints data, all of it or an error.
pub(crate) fn put(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Tells a person something that is not data, in one line.
pub(crate) fn say(text: &str) {
    tell(&format!("rearctl: {}\n", printable(text)));
}

/// Tells a person something of ours, as it is. Whoever has closed the stream does not want to know.
pub(crate) fn tell(text: &str) {
    let mut stream = io::stderr();
    drop(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()));
}

/// A text of several lines, each two columns to the right.
pub(crate) fn indented(text: &str) -> String {
    let line = |line: &str| ["  ", line, "\n"].concat();
    text.lines().map(line).collect()
}
