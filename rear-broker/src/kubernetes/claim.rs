//! Whether the objects on an API server are a view of this ledger: one of another, or of a newer state, is not repaired
//! from this one.

use rear_api::resources::Mark;
use rear_engine::Position;
use thiserror::Error;

/// A mark that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) place: String,
    pub(super) mark: Mark,
}

/// Why this broker does not serve these objects.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// They are a view of another ledger.
    #[error(
        "{place} is of ledger {theirs:032x}, this broker has {ours:032x}: give it the right data \
         directory, or, if that ledger is lost for good, start with --kubernetes-replaces-ledger={theirs:032x}"
    )]
    Other {
        /// The object.
        place: String,
        /// Its ledger.
        theirs: u128,
        /// This broker's.
        ours: u128,
    },
    /// They are a view of a newer state.
    #[error(
        "{place} is of revision {theirs}, this ledger is at {ours}: it is an old copy; give the broker \
         the newest one, or bring a backup back with `rear-broker snapshot restore`"
    )]
    Newer {
        /// The object.
        place: String,
        /// Its revision.
        theirs: Position,
        /// This ledger's.
        ours: Position,
    },
    /// The ledger knows of objects, and this API server has never seen it.
    #[error(
        "this API server has none of the objects of this ledger, which holds {0} reservations that were made as \
         objects: it is another cluster's, or was emptied; serving it would give them all back. Start with \
         --kubernetes-replaces-ledger=any to do so"
    )]
    Strange(usize),
}

/// Which other ledgers may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replaces {
    /// None.
    #[default]
    None,
    /// This one, which is lost for good.
    Ledger(u128),
    /// Whatever is there.
    Any,
}

/// Whether objects with these marks may be served from a ledger that has made so many of them.
pub(super) fn judge(
    found: &[Found],
    ours: Mark,
    made_as_objects: usize,
    replaces: Replaces,
) -> Result<(), ClaimError> {
    if replaces == Replaces::Any {
        return Ok(());
    }
    let is_ours = |found: &&Found| found.mark.ledger == ours.ledger;
    let newest = found.iter().filter(is_ours).max_by_key(|found| found.mark.position);
    if let Some(Found { place, mark }) = newest {
        // Marks of other ledgers beside ours were written by hand: they are repaired.
        let (theirs, ours) = (mark.position, ours.position);
        return if theirs > ours {
            Err(ClaimError::Newer { place: place.clone(), theirs, ours })
        } else {
            Ok(())
        };
    }
    let may_replace = |found: &&Found| replaces == Replaces::Ledger(found.mark.ledger);
    if let Some(Found { place, mark }) = found.iter().find(|found| !may_replace(found)) {
        let (theirs, ours) = (mark.ledger, ours.ledger);
        return Err(ClaimError::Other { place: place.clone(), theirs, ours });
    }
    if made_as_objects > 0 && found.is_empty() {
        return Err(ClaimError::Strange(made_as_objects));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(ledger: u128, number: u64) -> Mark {
        Mark { ledger, position: Position { incarnation: 1, number } }
    }

    fn found(ledger: u128, number: u64) -> Found {
        Found { place: "a/b".to_owned(), mark: mark(ledger, number) }
    }

    #[test]
    fn objects_of_this_ledger_and_not_ahead_of_it_are_served() {
        assert_eq!(judge(&[], mark(1, 5), 0, Replaces::None), Ok(()));
        assert_eq!(judge(&[found(1, 5)], mark(1, 5), 9, Replaces::None), Ok(()));
        let edited = [found(1, 4), found(2, 9)];
        assert_eq!(judge(&edited, mark(1, 5), 0, Replaces::None), Ok(()));
    }

    #[test]
    fn another_or_an_older_ledger_is_refused_with_what_to_do() {
        let other = judge(&[found(2, 1)], mark(1, 5), 0, Replaces::None).unwrap_err();
        assert!(matches!(other, ClaimError::Other { theirs: 2, ours: 1, .. }));
        assert!(other.to_string().contains("--kubernetes-replaces-ledger=0000"), "{other}");
        let newer = judge(&[found(1, 6)], mark(1, 5), 0, Replaces::None).unwrap_err();
        assert!(matches!(newer, ClaimError::Newer { .. }));
        let restored = Position { incarnation: 2, number: 1 };
        let ours = Mark { ledger: 1, position: restored };
        assert_eq!(judge(&[found(1, 6)], ours, 0, Replaces::None), Ok(()));
        assert_eq!(judge(&[found(2, 1)], mark(1, 5), 0, Replaces::Ledger(2)), Ok(()));
        assert!(judge(&[found(2, 1)], mark(1, 5), 0, Replaces::Ledger(3)).is_err());
    }

    #[test]
    fn an_api_server_that_has_lost_all_objects_takes_no_promise_away() {
        let strange = judge(&[], mark(1, 5), 3, Replaces::None);
        assert_eq!(strange, Err(ClaimError::Strange(3)));
        assert_eq!(judge(&[], mark(1, 5), 3, Replaces::Any), Ok(()));
    }
}
