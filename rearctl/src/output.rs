//! Everything that reaches a terminal or a pipe goes through here: formats, tables, colours, progress.

mod colour;
mod format;
mod json;
mod printable;
mod progress;
mod streams;
mod table;
mod terminal;
mod yaml;

pub(crate) use colour::{Colours, Style};
pub(crate) use format::Format;
pub(crate) use json::{compact, pretty};
pub(crate) use printable::printable;
pub(crate) use progress::Progress;
pub(crate) use streams::{indented, put, say, tell};
pub(crate) use table::{Cell, Table};
pub(crate) use terminal::{Restored, is_terminal, size};
pub(crate) use yaml::{document, member};
