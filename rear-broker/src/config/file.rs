//! Keys in a file: TOML, flat, each key once; what nobody knows is refused with its line.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Found;
use super::error::{ConfigError, ConfigErrors, Place};
use super::keys::{KEYS, Key};
use super::value::Shape;

/// What is found, and what is wrong with it, in the order of the lines.
pub(super) fn read(
    path: &Path,
) -> Result<(BTreeMap<&'static str, Found>, Vec<ConfigError>), ConfigErrors> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    let place = |at: usize| Place::File { path: path.to_owned(), line: line_of(&text, at) };
    let table = DeTable::parse(&text).map_err(|error| ConfigError::NotToml {
        place: place(error.span().map_or(text.len(), |span| span.start)),
        what: error.message().to_owned(),
    })?;
    let mut found = BTreeMap::new();
    let mut errors = Vec::new();
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in entries {
        let place = place(name.span().start);
        let written = text.get(value.span()).unwrap_or_default();
        match entry(name.get_ref(), value, written, place) {
            Ok((key, value)) => drop(found.insert(key, value)),
            Err(error) => errors.push(error),
        }
    }
    Ok((found, errors))
}

fn entry(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    written: &str,
    place: Place,
) -> Result<(&'static str, Found), ConfigError> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else {
        return Err(ConfigError::UnknownKey {
            place,
            key: name.to_owned(),
            nearest: nearest(name),
        });
    };
    let Some(texts) = texts(key, value.get_ref()) else {
        let remedy = format!("{}, not {}", wanted(key), value.get_ref().type_str());
        let value = written.to_owned();
        return Err(ConfigError::Invalid { place, key: key.name, value, remedy });
    };
    Ok((key.name, Found { texts, place }))
}

/// A value in the form that flags and variables have.
fn texts(key: &Key, value: &DeValue<'_>) -> Option<Vec<String>> {
    match (key.shape, value) {
        (Shape::Many, DeValue::Array(items)) => {
            items.iter().map(|item| text(item.get_ref())).collect()
        }
        (Shape::Switch, DeValue::Boolean(on)) => Some(vec![on.to_string()]),
        (Shape::One, value) => Some(vec![text(value)?]),
        (Shape::Many | Shape::Switch, _) => None,
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

fn wanted(key: &Key) -> &'static str {
    match key.shape {
        Shape::One => "it is a text or a number",
        Shape::Switch => "it is true or false",
        Shape::Many => "it is a list, such as [\"a\", \"b\"]",
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The known key that shares most with a misspelt one, if that is a lot.
fn nearest(name: &str) -> Option<&'static str> {
    let written = name.replace('_', "-").to_lowercase();
    let best = KEYS.iter().map(|key| (distance(&written, key.name), key.name)).min()?;
    // A third of the letters may be wrong: more is another word.
    (best.0 * 3 <= best.1.len()).then_some(best.1)
}

/// How many letters have to be put in, left out or replaced.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (at, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

impl Key {
    /// As it could stand in a file.
    #[must_use]
    pub fn line(&self, texts: &[String]) -> String {
        let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
        let value = match (self.shape, texts) {
            (Shape::Switch, [text]) => text.clone(),
            (Shape::One, [text]) if text.parse::<i64>().is_ok() => text.clone(),
            (Shape::One, [text]) => quoted(text),
            (Shape::Many | Shape::One | Shape::Switch, texts) => {
                let texts: Vec<String> = texts.iter().map(quoted).collect();
                format!("[{}]", texts.join(", "))
            }
        };
        format!("{} = {value}", self.name)
    }
}
