//! The clusters that look the same to a request, in order of their ids.

use std::collections::BTreeSet;

use crate::id::ClusterId;

/// At least one cluster. Most rows of a busy fleet have exactly one, which needs no tree.
#[derive(Debug, Clone)]
pub(super) enum Members {
    One(ClusterId),
    Many(BTreeSet<ClusterId>),
}

impl Members {
    /// In order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ClusterId> {
        let (one, many) = match self {
            Self::One(id) => (Some(id), None),
            Self::Many(ids) => (None, Some(ids)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(super) fn is_single(&self) -> bool {
        match self {
            Self::One(_) => true,
            Self::Many(ids) => ids.len() == 1,
        }
    }

    pub(super) fn add(&mut self, id: ClusterId) {
        match self {
            Self::One(first) => *self = Self::Many(BTreeSet::from([first.clone(), id])),
            Self::Many(ids) => {
                ids.insert(id);
            }
        }
    }

    /// Takes one of several away.
    pub(super) fn remove(&mut self, id: &ClusterId) {
        if let Self::Many(ids) = self {
            ids.remove(id);
        }
    }
}
