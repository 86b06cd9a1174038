//! Whether a broker that was killed has forgotten, doubled or made up anything.

use std::collections::{BTreeMap, BTreeSet};

/// What callers know, and what the broker has in the end.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The reservation that each intent was answered with, as often as it was answered.
    pub answered: Vec<(String, String)>,
    /// Every reservation that the broker lists.
    pub found: BTreeSet<String>,
    /// By how many requests its ledger has grown.
    pub booked: u64,
}

/// What is wrong.
#[must_use]
pub fn kept(seen: &Kept) -> Vec<String> {
    let mut broken = Vec::new();
    let mut of_intent: BTreeMap<&str, &str> = BTreeMap::new();
    for (intent, id) in &seen.answered {
        let first = of_intent.entry(intent).or_insert(id);
        if *first != id {
            broken.push(format!("{intent} was granted twice: as {first} and as {id}"));
        }
    }
    let granted: BTreeSet<&str> = seen.answered.iter().map(|(_, id)| id.as_str()).collect();
    let lost = granted.iter().filter(|id| !seen.found.contains(**id));
    broken.extend(lost.map(|id| format!("{id} was acknowledged, and is lost")));
    let strange = seen.found.iter().filter(|id| !granted.contains(id.as_str()));
    broken.extend(strange.map(|id| format!("{id} is there, and nobody was granted it")));
    if u128::from(seen.booked) != seen.found.len() as u128 {
        broken.push(format!(
            "{} reservations are there, the ledger has {}",
            seen.found.len(),
            seen.booked
        ));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Kept {
        let answered = [("a", "rsv-1"), ("b", "rsv-2"), ("a", "rsv-1")];
        Kept {
            answered: answered.map(|(intent, id)| (intent.to_owned(), id.to_owned())).into(),
            found: ["rsv-1", "rsv-2"].map(str::to_owned).into(),
            booked: 2,
        }
    }

    #[test]
    fn what_was_acknowledged_and_is_there_once_is_in_order() {
        assert_eq!(kept(&seen()), Vec::<String>::new());
    }

    #[test]
    fn a_reservation_that_is_lost_is_found() {
        let mut planted = seen();
        planted.found.remove("rsv-2");
        let broken = kept(&planted);
        assert!(broken[0].contains("rsv-2 was acknowledged") && broken.len() == 2, "{broken:?}");
    }

    #[test]
    fn an_intent_that_is_granted_twice_is_found() {
        let mut planted = seen();
        planted.answered.push(("b".to_owned(), "rsv-3".to_owned()));
        planted.found.insert("rsv-3".to_owned());
        planted.booked = 3;
        let broken = kept(&planted);
        assert!(broken.len() == 1 && broken[0].contains("b was granted twice"), "{broken:?}");
    }

    #[test]
    fn what_nobody_asked_for_and_a_ledger_that_says_otherwise_are_found() {
        let mut planted = seen();
        planted.found.insert("rsv-9".to_owned());
        assert_eq!(kept(&planted).len(), 2);
    }
}
