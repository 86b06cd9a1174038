//! Advertisements that only say again what is known: most of what agents send, and nothing that must be durable.
//!
//! Nobody has to wait for the writer for these. Readers see them at once; the writer finds them here, the
//! last of each cluster, and takes them in before it decides anything else ([`crate::writer`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

use rear_engine::{Advertisement, ClusterId, Timestamp};
use rustc_hash::FxHashMap;

/// What a cluster said again, and when that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) cluster: ClusterId,
    pub(crate) advertisement: Box<Advertisement>,
    pub(crate) at: Timestamp,
}

/// What the writer has not seen yet. No larger than the fleet: only clusters that are known say something again.
#[derive(Default)]
pub(crate) struct Refreshments(Mutex<FxHashMap<ClusterId, Word>>);

impl Refreshments {
    /// The last word of a cluster.
    pub(crate) fn put(&self, word: Word) {
        self.kept().insert(word.cluster.clone(), word);
    }

    /// Everything that was said since the last time.
    pub(crate) fn take(&self) -> impl Iterator<Item = Word> {
        std::mem::take(&mut *self.kept()).into_values()
    }

    /// What was taken and came to nothing, but for clusters that have said something since.
    pub(crate) fn give_back(&self, taken: Vec<Word>) {
        let mut kept = self.kept();
        for word in taken {
            kept.entry(word.cluster.clone()).or_insert(word);
        }
    }

    fn kept(&self) -> MutexGuard<'_, FxHashMap<ClusterId, Word>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
