//! Configuration: one table of keys, each by flag, environment or file, in this order, read once into types.
//!
//! `keys` has the table; `flags`, `environment` and `file` find texts and where they come from; `value` reads
//! them; [`Config::settings`] and its neighbours in `meaning` say what they mean to the rest of the broker.

mod environment;
mod error;
mod file;
mod flags;
mod keys;
mod meaning;
mod value;

use std::collections::BTreeMap;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

pub use environment::Environment;
pub use error::{ConfigError, ConfigErrors, Place};
pub use flags::Flags;
pub use keys::{Config, KEYS, Key, Reload};
pub use value::{
    BrokerInterface, EtcdEndpoint, EtcdPrefix, LogFormat, PeerAddress, PriorityCap, Shape, Span,
    StoreKind,
};

/// The file that is read without being named, in the data directory.
pub const FILE: &str = "broker.toml";

/// Texts for a key, and where they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// One, or several for a list.
    pub texts: Vec<String>,
    /// Where.
    pub place: Place,
}

/// What was found for each key, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Values(BTreeMap<&'static str, Found>);

/// A configuration with its origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What counts.
    pub config: Config,
    /// Where each value was found.
    pub values: Values,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Variables of the environment that look like keys and are none.
    pub unknown_variables: Vec<String>,
}

/// The same for a broker that runs: a file that was read before and is gone is an error, as nobody wants all that it said
/// to be forgotten while it is replaced.
pub fn load_again(
    flags: &Flags,
    environment: &Environment,
    before: Option<&Path>,
) -> Result<Loaded, ConfigErrors> {
    let loaded = load(flags, environment)?;
    match before {
        Some(path) if loaded.file.is_none() => {
            let (path, source) = (path.to_owned(), NotFound.into());
            Err(ConfigError::Unreadable { path, source }.into())
        }
        _ => Ok(loaded),
    }
}

/// Reads the configuration: flags over environment over file over defaults.
pub fn load(flags: &Flags, environment: &Environment) -> Result<Loaded, ConfigErrors> {
    let mut values = Values::default();
    values.add(environment.values());
    values.add(flags.values());
    let named = flags.file().or_else(|| environment.file());
    let file = named.or_else(|| values.file_in_data());
    let mut errors = Vec::new();
    if let Some(path) = &file {
        // What the file says counts only where nobody else has said anything.
        let (found, wrong) = file::read(path)?;
        errors = wrong;
        let mut all = Values(found);
        all.add(values.0);
        values = all;
    }
    let unknown_variables = environment.unknown();
    match Config::read(&values).and_then(|config| config.check(&values).map(|()| config)) {
        Ok(config) if errors.is_empty() => Ok(Loaded { config, values, file, unknown_variables }),
        read => {
            errors.extend(read.err().into_iter().flat_map(|ConfigErrors(more)| more));
            Err(ConfigErrors(errors))
        }
    }
}

impl Values {
    /// Later ones count.
    fn add(&mut self, found: BTreeMap<&'static str, Found>) {
        self.0.extend(found);
    }

    /// What was found for a key.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Found> {
        self.0.get(name)
    }

    /// The file in the data directory, if that is named and has one.
    fn file_in_data(&self) -> Option<PathBuf> {
        let data = self.get("data")?.texts.first()?;
        let path = Path::new(data).join(FILE);
        // One that leads nowhere, or may not be looked at, is there: whoever reads it is told why that fails.
        let missing = path
            .symlink_metadata()
            .is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory));
        (!missing).then_some(path)
    }
}
