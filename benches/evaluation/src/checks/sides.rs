//! Whether both sides of every promise were told the same, and whether more was promised than there is.

use std::collections::BTreeMap;

/// One promise, as someone was told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// Its name.
    pub id: String,
    /// Who was promised.
    pub requester: String,
    /// Who keeps it.
    pub provider: String,
    /// How much, as texts.
    pub amounts: (String, String),
}

/// What everyone was told, and how much there is room for.
#[derive(Debug, Clone, Default)]
pub struct Sides {
    /// By the answers to requests.
    pub granted: Vec<Promise>,
    /// By the lists of requesters.
    pub requesters: Vec<Promise>,
    /// By the instructions of the provider.
    pub provider: Vec<Promise>,
    /// How many such promises fit.
    pub room: usize,
}

/// What is wrong.
#[must_use]
pub fn sides(seen: &Sides) -> Vec<String> {
    let mut broken = Vec::new();
    let by_id = |list: &[Promise], whose: &str, broken: &mut Vec<String>| {
        let mut map: BTreeMap<String, Promise> = BTreeMap::new();
        for promise in list {
            if map.insert(promise.id.clone(), promise.clone()).is_some() {
                broken.push(format!("{} is in {whose} twice", promise.id));
            }
        }
        map
    };
    let granted = by_id(&seen.granted, "the answers", &mut broken);
    for (list, whose) in [
        (&seen.requesters, "the requesters' lists"),
        (&seen.provider, "the provider's instructions"),
    ] {
        let told = by_id(list, whose, &mut broken);
        for (id, promise) in &granted {
            match told.get(id) {
                None => broken.push(format!("{id} was granted, and is not in {whose}")),
                Some(other) if other != promise => {
                    broken.push(format!("{id} is otherwise in {whose}"));
                }
                Some(_) => {}
            }
        }
        let unknown = told.keys().filter(|id| !granted.contains_key(*id));
        broken.extend(unknown.map(|id| format!("{id} is in {whose}, and nobody was granted it")));
    }
    if granted.len() != seen.room {
        broken.push(format!("{} were granted, there was room for {}", granted.len(), seen.room));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(id: &str, requester: &str) -> Promise {
        Promise {
            id: id.to_owned(),
            requester: requester.to_owned(),
            provider: "rome".to_owned(),
            amounts: ("1m".to_owned(), "1Mi".to_owned()),
        }
    }

    fn seen() -> Sides {
        let both = vec![promise("rsv-1", "paris"), promise("rsv-2", "oslo")];
        Sides { granted: both.clone(), requesters: both.clone(), provider: both, room: 2 }
    }

    #[test]
    fn sides_that_were_told_the_same_are_in_order() {
        assert_eq!(sides(&seen()), Vec::<String>::new());
    }

    #[test]
    fn a_double_booking_is_found() {
        let mut planted = seen();
        let third = promise("rsv-3", "milan");
        planted.granted.push(third.clone());
        planted.requesters.push(third.clone());
        planted.provider.push(third);
        assert_eq!(sides(&planted), ["3 were granted, there was room for 2"]);
    }

    #[test]
    fn room_that_is_refused_although_it_is_there_is_found() {
        assert_eq!(sides(&Sides { room: 3, ..seen() }), ["2 were granted, there was room for 3"]);
    }

    #[test]
    fn a_side_that_was_told_something_else_or_nothing_is_found() {
        let mut planted = seen();
        planted.provider[0].requester = "milan".to_owned();
        planted.requesters.pop();
        let broken = sides(&planted);
        assert!(
            broken[0].contains("rsv-2 was granted, and is not in the requesters' lists"),
            "{broken:?}"
        );
        assert!(broken[1].contains("rsv-1 is otherwise in the provider's"), "{broken:?}");
    }

    #[test]
    fn a_promise_to_nobody_and_one_that_is_told_twice_are_found() {
        let mut planted = seen();
        planted.provider.push(promise("rsv-7", "paris"));
        planted.provider.push(promise("rsv-1", "paris"));
        assert_eq!(sides(&planted).len(), 2);
    }
}
