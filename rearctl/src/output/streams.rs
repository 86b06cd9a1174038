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

/// Tells a person something that is not data.
pub(crate) fn say(text: &str) {
    eprintln!("rearctl: {}", printable(text));
}

/// A text of several lines, each two columns to the right.
pub(crate) fn indented(text: &str) -> String {
    let line = |line: &str| ["  ", line, "\n"].concat();
    text.lines().map(line).collect()
}
