//! Labels on the wire: an object of texts in which no key stands twice.

use std::collections::BTreeMap;
use std::fmt;

use rear_engine::labels::{Labels, LabelsError};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Labels as they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LabelTexts(pub BTreeMap<String, String>);

impl LabelTexts {
    /// Checks them.
    pub fn labels(self) -> Result<Labels, LabelsError> {
        Labels::new(self.0)
    }

    /// The texts of labels; nothing when there are none.
    #[must_use]
    pub fn of(labels: &Labels) -> Option<Self> {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        (!labels.is_empty()).then(|| Self(labels.iter().map(owned).collect()))
    }
}

impl<'de> Deserialize<'de> for LabelTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Distinct)
    }
}

struct Distinct;

impl<'de> Visitor<'de> for Distinct {
    type Value = LabelTexts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LabelTexts, A::Error> {
        let mut labels = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            if labels.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate label `{key}`")));
            }
            labels.insert(key, value);
        }
        Ok(LabelTexts(labels))
    }
}
