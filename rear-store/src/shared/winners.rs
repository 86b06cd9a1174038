//! Who has made which entry last: whom to hand commands to, and whose commands may still be decided.
//!
//! A broker that hands commands over says what it had applied then. Once an entry of its own stands behind that, it has taken
//! them back: whoever still holds them must not decide them any more. So an outcome that was not heard is settled by an entry
//! of one's own, however long the commands are on their way.

use std::collections::BTreeMap;

use crate::position::Position;

/// So many brokers are remembered. Each start of a broker is a new one; there are rarely more than a few at once.
const MAX_REMEMBERED: usize = 32;

/// Commands of another broker: whose, and what it had applied when it handed them over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Which broker.
    pub broker: u128,
    /// What it had applied.
    pub after: Position,
}

/// Who has made which entry last.
#[derive(Debug, Clone)]
pub struct Winners {
    /// Entries up to this one may have been anyone's.
    since: Position,
    last: Option<u128>,
    made: BTreeMap<u128, Position>,
}

impl Winners {
    /// Nothing is known of entries up to this one.
    #[must_use]
    pub fn since(position: Position) -> Self {
        Self { since: position, last: None, made: BTreeMap::new() }
    }

    /// An entry was applied.
    pub fn won(&mut self, broker: u128, position: Position) {
        self.last = Some(broker);
        self.made.insert(broker, position);
        if self.made.len() > MAX_REMEMBERED
            && let Some((&oldest, &until)) = self.made.iter().min_by_key(|(_, at)| **at)
        {
            self.made.remove(&oldest);
            self.since = self.since.max(until);
        }
    }

    /// Who has made the last entry, if that is known.
    #[must_use]
    pub fn last(&self) -> Option<u128> {
        self.last
    }

    /// Whether commands may still be decided: their broker has made no entry since it handed them over.
    #[must_use]
    pub fn may_decide(&self, origin: &Origin) -> bool {
        origin.after >= self.since
            && self.made.get(&origin.broker).is_none_or(|made| *made <= origin.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Position {
        Position { incarnation: 1, number }
    }

    #[test]
    fn an_entry_of_its_own_takes_back_what_a_broker_handed_over() {
        let mut winners = Winners::since(at(10));
        let handed = |after| Origin { broker: 1, after: at(after) };
        assert!(winners.may_decide(&handed(10)));
        winners.won(2, at(11));
        assert_eq!(winners.last(), Some(2));
        assert!(winners.may_decide(&handed(10)), "others' entries take nothing back");
        winners.won(1, at(12));
        assert!(!winners.may_decide(&handed(11)));
        assert!(winners.may_decide(&handed(12)));
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        let winners = Winners::since(at(10));
        assert!(!winners.may_decide(&Origin { broker: 1, after: at(9) }));
    }

    #[test]
    fn who_is_forgotten_is_not_taken_for_silent() {
        let mut winners = Winners::since(at(0));
        for number in 1..=1000_u64 {
            winners.won(u128::from(number), at(number));
        }
        assert!(winners.made.len() <= MAX_REMEMBERED);
        for number in 1..=1000_u64 {
            let before = Origin { broker: number.into(), after: at(number - 1) };
            assert!(!winners.may_decide(&before), "{number}");
        }
        assert!(winners.may_decide(&Origin { broker: 1, after: at(1000) }));
    }
}
