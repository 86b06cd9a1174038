//! The names of everything in etcd.

use crate::position::Position;

/// Makes names below a prefix.
#[derive(Debug, Clone)]
pub(super) struct Keys(String);

impl Keys {
    pub(super) fn below(prefix: &str) -> Self {
        Self(prefix.trim_end_matches('/').to_owned())
    }

    pub(super) fn head(&self) -> String {
        format!("{}/head", self.0)
    }

    /// Numbers have as many digits as the largest, so that they sort as numbers do.
    pub(super) fn entry(&self, position: Position) -> String {
        format!("{}{:020}", self.entries_of(position.incarnation), position.number)
    }

    pub(super) fn entries_of(&self, incarnation: u64) -> String {
        format!("{}{incarnation:020}/", self.entries())
    }

    pub(super) fn entries(&self) -> String {
        format!("{}/entries/", self.0)
    }

    /// The position of an entry's key.
    pub(super) fn position_of(&self, key: &[u8]) -> Option<Position> {
        let text = std::str::from_utf8(key).ok()?.strip_prefix(&self.entries())?;
        let (incarnation, number) = text.split_once('/')?;
        Some(Position { incarnation: incarnation.parse().ok()?, number: number.parse().ok()? })
    }

    pub(super) fn snapshot(&self) -> String {
        format!("{}/snapshot", self.0)
    }

    /// Whoever holds this makes a snapshot.
    pub(super) fn claim(&self) -> String {
        format!("{}/snapshotting", self.0)
    }

    pub(super) fn uploads(&self) -> String {
        format!("{}/snapshots/", self.0)
    }

    pub(super) fn chunks(&self, upload: u128) -> String {
        format!("{}{upload:032x}/", self.uploads())
    }

    pub(super) fn chunk(&self, upload: u128, number: u64) -> String {
        format!("{}{number:010}", self.chunks(upload))
    }

    pub(super) fn brokers(&self) -> String {
        format!("{}/brokers/", self.0)
    }

    pub(super) fn broker(&self, broker: u128) -> String {
        format!("{}{broker:032x}", self.brokers())
    }

    /// The number in a broker's key; 0, which nobody draws, in that of anything else.
    pub(super) fn broker_of(&self, key: &[u8]) -> u128 {
        let text = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(&self.brokers()));
        text.and_then(|text| u128::from_str_radix(text, 16).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_an_entry_tells_its_position_and_sorts_by_it() {
        let keys = Keys::below("/rear/");
        let at = |number| Position { incarnation: 7, number };
        assert_eq!(keys.position_of(keys.entry(at(41)).as_bytes()), Some(at(41)));
        assert!(keys.entry(at(9)) < keys.entry(at(10)));
        assert_eq!(keys.position_of(b"/rear/head"), None);
    }
}
