//! Conditions: what is so, since when and why, in the shape that Kubernetes' tools expect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is so, is not so, or is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its name, once in a list.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is so.
    pub status: Truth,
    /// A word for why.
    pub reason: String,
    /// The same for people.
    #[serde(default)]
    pub message: String,
    /// Since when it is so or not so.
    pub last_transition_time: String,
    /// The generation of the object that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// Nobody knows yet.
    Unknown,
}

/// Sets the condition of its name. The time stays while its status does.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|known| known.kind == new.kind) {
        None => conditions.push(new),
        Some(known) => {
            if known.status == new.status {
                new.last_transition_time.clone_from(&known.last_transition_time);
            }
            *known = new;
        }
    }
}

/// The condition of a name.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|known| known.kind == kind)
}

/// Whether someone says that it is so.
#[must_use]
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    condition(conditions, kind).is_some_and(|known| known.status == Truth::True)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: Truth, reason: &str, at: &str) -> Condition {
        Condition {
            kind: "Ready".into(),
            status,
            reason: reason.into(),
            message: String::new(),
            last_transition_time: at.into(),
            observed_generation: None,
        }
    }

    #[test]
    fn the_time_of_a_condition_is_that_of_its_status() {
        let mut conditions = vec![condition(Truth::False, "a", "1")];
        set_condition(&mut conditions, condition(Truth::False, "b", "2"));
        assert_eq!(conditions, [condition(Truth::False, "b", "1")]);
        set_condition(&mut conditions, condition(Truth::True, "b", "3"));
        assert_eq!(conditions, [condition(Truth::True, "b", "3")]);
    }
}
