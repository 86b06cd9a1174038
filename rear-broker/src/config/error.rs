//! What is wrong with a configuration: where it is written, and what would be right.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Where a value was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    Flag(&'static str),
    /// In the environment.
    Variable(String),
    /// In a file.
    File {
        /// Which one.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag --{name}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File { path, line } => write!(f, "{}, line {line}", path.display()),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: this is not TOML: {what}")]
    NotToml {
        /// Where it ceases to be.
        place: Place,
        /// What the parser says.
        what: String,
    },
    /// A key that nobody knows.
    #[error("{place}: there is no key `{key}`{}", remedy(*.nearest))]
    UnknownKey {
        /// Where.
        place: Place,
        /// As it is written there.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A value that cannot be read.
    #[error("{place}: `{key}` cannot be {value:?}: {remedy}")]
    Invalid {
        /// Where.
        place: Place,
        /// Which key.
        key: &'static str,
        /// What is written there.
        value: String,
        /// What would be right.
        remedy: String,
    },
    /// A key without which nothing works.
    #[error(
        "`{key}` is missing: give it with the flag --{key}, the environment variable {variable}, or as `{key} = …` in the file"
    )]
    Missing {
        /// Which key.
        key: &'static str,
        /// Its variable.
        variable: String,
    },
}

fn remedy(nearest: Option<&str>) -> String {
    match nearest {
        Some(key) => format!("; is `{key}` meant?"),
        None => "; docs/reference/configuration.md has them all".to_owned(),
    }
}

/// Everything that is wrong, a line for each.
#[derive(Debug, Error)]
#[error("the configuration cannot be used\n{}", lines(.0))]
pub struct ConfigErrors(pub Vec<ConfigError>);

fn lines(errors: &[ConfigError]) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("  {error}")).collect();
    lines.join("\n")
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
