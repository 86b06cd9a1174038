//! How data is printed.

use clap::ValueEnum;

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    #[default]
    Table,
    /// More columns
    Wide,
    /// JSON: an array for a list, one object on a line for a stream
    Json,
    /// YAML: the same members as JSON; a stream is a sequence of documents
    Yaml,
    /// KIND/NAME, one on a line, for other commands
    Name,
}
