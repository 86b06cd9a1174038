//! Keys in the environment: `REAR_HTTP_PORT` for `http-port`. An empty variable counts as one that is not set.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keys::{KEYS, Key};
use super::value::Shape;
use super::{Found, Place};

/// How the names of all variables begin.
const PREFIX: &str = "REAR_";

/// The variable that names the file.
const FILE_VARIABLE: &str = "REAR_CONFIG";

/// The variables that may be keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    pub(super) fn values(&self) -> BTreeMap<&'static str, Found> {
        KEYS.iter().filter_map(|key| Some((key.name, self.value(key)?))).collect()
    }

    fn value(&self, key: &Key) -> Option<Found> {
        let name = key.variable();
        let text = self.0.get(&name)?;
        let texts = match key.shape {
            Shape::Many => text.split(',').map(|part| part.trim().to_owned()).collect(),
            Shape::One | Shape::Switch => vec![text.clone()],
        };
        Some(Found { texts, place: Place::Variable(name) })
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        self.0.get(FILE_VARIABLE).map(PathBuf::from)
    }

    /// Variables that begin as keys do and are none: another program's, or misspelt.
    pub(super) fn unknown(&self) -> Vec<String> {
        let known =
            |name: &str| name == FILE_VARIABLE || KEYS.iter().any(|key| key.variable() == name);
        self.0.keys().filter(|name| !known(name)).cloned().collect()
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        let ours = |(name, value): &(String, String)| name.starts_with(PREFIX) && !value.is_empty();
        Self(variables.into_iter().filter(ours).collect())
    }
}

impl Key {
    /// Its name in the environment.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.replace('-', "_").to_uppercase())
    }
}
