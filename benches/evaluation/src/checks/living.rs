//! Whether the promises that live are those that were made and have not ended.

use std::collections::BTreeMap;

/// What is known of a promise by who was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Who keeps it.
    pub provider: String,
    /// Millicores, bytes, devices, bytes of storage.
    pub amounts: [u64; 4],
    /// When it ends, in nanoseconds.
    pub ends: i64,
}

/// What is wrong. What has ended within the last moments may still live, as ends are done one after the other.
#[must_use]
pub fn living(
    made: &BTreeMap<u128, Made>,
    live: &BTreeMap<u128, (String, [u64; 4])>,
    now: i64,
    moments: i64,
) -> Vec<String> {
    let mut broken = Vec::new();
    for (id, promise) in made {
        match live.get(id) {
            None if promise.ends > now => broken.push(format!("{id}: forgotten before its end")),
            Some(_) if promise.ends + moments < now => {
                broken.push(format!("{id}: lives beyond its end"));
            }
            Some((provider, amounts))
                if *provider != promise.provider || *amounts != promise.amounts =>
            {
                broken.push(format!("{id}: is no longer what was promised"));
            }
            _ => {}
        }
    }
    let unknown = live.keys().filter(|id| !made.contains_key(id));
    broken.extend(unknown.map(|id| format!("{id}: lives, and was ended or never made")));
    broken
}

/// Where more is promised than there is, among clusters that were granted something just now.
#[must_use]
pub fn beyond(
    room: &BTreeMap<String, [u64; 4]>,
    live: &BTreeMap<u128, (String, [u64; 4])>,
    granted_on: &[String],
) -> Vec<String> {
    let mut sums: BTreeMap<&str, [u128; 4]> = BTreeMap::new();
    for (provider, amounts) in live.values() {
        let sum = sums.entry(provider).or_default();
        sum.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += u128::from(*amount));
    }
    let too_much = |provider: &&String| {
        let (Some(sum), Some(room)) = (sums.get(provider.as_str()), room.get(*provider)) else {
            return false;
        };
        sum.iter().zip(room).any(|(sum, room)| *sum > u128::from(*room))
    };
    granted_on
        .iter()
        .filter(too_much)
        .map(|provider| format!("{provider}: more is promised than it has"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> BTreeMap<u128, Made> {
        let one = |ends| Made { provider: "a".to_owned(), amounts: [1, 2, 0, 0], ends };
        BTreeMap::from([(1, one(100)), (2, one(40))])
    }

    fn live(ids: &[u128]) -> BTreeMap<u128, (String, [u64; 4])> {
        ids.iter().map(|id| (*id, ("a".to_owned(), [1, 2, 0, 0]))).collect()
    }

    #[test]
    fn promises_that_live_until_their_end_are_in_order() {
        assert_eq!(living(&made(), &live(&[1, 2]), 30, 10), Vec::<String>::new());
        assert_eq!(living(&made(), &live(&[1]), 45, 10), Vec::<String>::new());
        assert_eq!(living(&made(), &live(&[1, 2]), 45, 10), Vec::<String>::new());
    }

    #[test]
    fn a_promise_that_is_forgotten_or_outlives_its_end_is_found() {
        assert_eq!(living(&made(), &live(&[2]), 30, 10), ["1: forgotten before its end"]);
        assert_eq!(living(&made(), &live(&[1, 2]), 60, 10), ["2: lives beyond its end"]);
    }

    #[test]
    fn a_promise_that_changes_or_comes_from_nowhere_is_found() {
        let mut planted = live(&[1, 2, 3]);
        planted.insert(1, ("b".to_owned(), [1, 2, 0, 0]));
        assert_eq!(living(&made(), &planted, 30, 10).len(), 2);
    }

    #[test]
    fn a_unit_more_than_there_is_is_found_where_something_was_granted() {
        let room = BTreeMap::from([("a".to_owned(), [2, 4, 0, 0])]);
        let granted = ["a".to_owned()];
        assert_eq!(beyond(&room, &live(&[1, 2]), &granted), Vec::<String>::new());
        assert_eq!(beyond(&room, &live(&[1, 2, 3]), &granted), ["a: more is promised than it has"]);
        assert_eq!(beyond(&room, &live(&[1, 2, 3]), &[]), Vec::<String>::new());
    }
}
