//! Labels of a cluster, and what a request wants of them.

use std::collections::BTreeMap;

use thiserror::Error;

/// More labels than this describe nothing any more; each is compared in every constrained request.
pub const MAX_LABELS: usize = 64;

/// A DNS prefix, a slash and a name: the longest key that Kubernetes allows.
pub const MAX_LABEL_KEY_LENGTH: usize = 317;

/// Room for a sentence; Kubernetes allows 63 characters.
pub const MAX_LABEL_VALUE_LENGTH: usize = 256;

/// Properties that a cluster tells of itself, or that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Labels(BTreeMap<String, String>);

/// Why labels were refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LabelsError {
    /// More than [`MAX_LABELS`].
    #[error("at most {MAX_LABELS} labels")]
    TooMany,
    /// A key that is empty or too long.
    #[error("a label's key has 1 to {MAX_LABEL_KEY_LENGTH} characters")]
    KeyLength,
    /// A value that is too long.
    #[error("a label's value has at most {MAX_LABEL_VALUE_LENGTH} characters")]
    ValueLength,
    /// A character that would change what a terminal or a log shows.
    #[error("labels have no control characters")]
    Control,
}

impl Labels {
    /// Checks and keeps labels.
    pub fn new(labels: BTreeMap<String, String>) -> Result<Self, LabelsError> {
        if labels.len() > MAX_LABELS {
            return Err(LabelsError::TooMany);
        }
        for (key, value) in &labels {
            if key.is_empty() || key.len() > MAX_LABEL_KEY_LENGTH {
                return Err(LabelsError::KeyLength);
            }
            if value.len() > MAX_LABEL_VALUE_LENGTH {
                return Err(LabelsError::ValueLength);
            }
            if key.chars().chain(value.chars()).any(crate::text::misleads) {
                return Err(LabelsError::Control);
            }
        }
        Ok(Self(labels))
    }

    /// Every label, in order of its key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How long all keys and values are together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.len()).sum()
    }

    /// Whether this label is present with this value.
    #[must_use]
    pub fn has(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_some_and(|present| present == value)
    }

    /// The first wanted label that is absent here or has another value.
    #[must_use]
    pub fn first_missing<'w>(&self, wanted: &'w Self) -> Option<(&'w str, &'w str)> {
        wanted.iter().find(|(key, value)| !self.has(key, value))
    }

    /// How many of the wanted labels are present.
    #[must_use]
    pub fn count_of(&self, wanted: &Self) -> usize {
        wanted.iter().filter(|(key, value)| self.has(key, value)).count()
    }
}
