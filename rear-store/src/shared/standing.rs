//! Who has won a place, and whether the journal is still the one that was followed.

use thiserror::Error;

use super::{Hash, Head, hash_of};
use crate::position::Position;

/// The journal is not the one that was followed so far. Nothing may be granted until an administrator decides.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fork {
    /// It belongs to another ledger.
    #[error("etcd holds ledger {found:032x}, this broker has followed {followed:032x}")]
    OtherLedger {
        /// What was followed.
        followed: u128,
        /// What is there.
        found: u128,
    },
    /// It ends before what was followed: an older state was brought back.
    #[error(
        "the journal in etcd ends at {found}, this broker has followed it up to {followed}: an older state of etcd was brought back"
    )]
    WentBack {
        /// What was followed.
        followed: Position,
        /// Where it ends.
        found: Position,
    },
    /// It is of another incarnation.
    #[error("the journal in etcd is at {found}, this broker has followed {followed}")]
    OtherIncarnation {
        /// What was followed.
        followed: Position,
        /// Where it ends.
        found: Position,
    },
    /// The same place holds something else.
    #[error("entry {0} in etcd is not the one that this broker has followed")]
    OtherEntry(Position),
    /// There is no journal any more.
    #[error("there is no journal in etcd any more; this broker has followed it up to {0}")]
    Gone(Position),
}

/// How a head compares with what was applied before it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing happened since.
    Current,
    /// There is more to follow.
    More(Position),
}

/// Compares a head that was read with what had been applied before it was read.
pub fn judge_head(applied: &Head, found: Option<&Head>) -> Result<Seen, Fork> {
    let followed = applied.position;
    let found = found.ok_or(Fork::Gone(followed))?;
    if found.ledger != applied.ledger {
        return Err(Fork::OtherLedger { followed: applied.ledger, found: found.ledger });
    }
    if found.position.incarnation != followed.incarnation {
        return Err(Fork::OtherIncarnation { followed, found: found.position });
    }
    match found.position.number.cmp(&followed.number) {
        std::cmp::Ordering::Less => Err(Fork::WentBack { followed, found: found.position }),
        std::cmp::Ordering::Greater => Ok(Seen::More(found.position)),
        std::cmp::Ordering::Equal if found.hash == applied.hash => Ok(Seen::Current),
        std::cmp::Ordering::Equal => Err(Fork::OtherEntry(followed)),
    }
}

/// What a place turned out to hold for whoever wanted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// What was put there.
    Mine,
    /// What someone else put there.
    Theirs,
    /// Nothing can be said: entries of that age are gone.
    Trimmed,
}

/// Who has won the place after `applied`, told by the head and by what is in the place. Only asked once the head has moved.
pub fn judge_place(
    applied: &Head,
    mine: Hash,
    found: Option<&Head>,
    in_place: Option<&[u8]>,
) -> Result<Place, Fork> {
    match judge_head(applied, found)? {
        // The same head and yet not equal in every byte: nothing that this program writes.
        Seen::Current => Err(Fork::OtherEntry(applied.position)),
        Seen::More(_) => Ok(match in_place {
            Some(bytes) if hash_of(bytes) == mine => Place::Mine,
            Some(_) => Place::Theirs,
            None => Place::Trimmed,
        }),
    }
}
