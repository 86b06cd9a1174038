//! Advertisements that only say again what is known: most of what agents send, and nothing that must be durable.
//!
//! Nobody has to wait for the writer for these. Readers see them at once; the writer finds them here, the
//! last of each cluster, and decides them again before anything else.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rear_engine::{Advertisement, ClusterId, Command};
use rustc_hash::FxHashMap;

/// What the writer has not seen yet. No larger than the fleet: only clusters that are known say something again.
#[derive(Default)]
pub(crate) struct Refreshments(Mutex<FxHashMap<ClusterId, Box<Advertisement>>>);

impl Refreshments {
    /// The last word of a cluster.
    pub(crate) fn put(&self, cluster: ClusterId, advertisement: Box<Advertisement>) {
        self.kept().insert(cluster, advertisement);
    }

    /// Everything that was said since the last time.
    pub(crate) fn take(&self) -> impl Iterator<Item = Command> {
        let taken = std::mem::take(&mut *self.kept());
        let command =
            |(cluster, advertisement)| Command::Advertise { cluster, advertisement, holding: None };
        taken.into_iter().map(command)
    }

    /// What was taken and came to nothing, but for clusters that have said something since.
    pub(crate) fn give_back(&self, taken: Vec<Command>) {
        let mut kept = self.kept();
        for command in taken {
            if let Command::Advertise { cluster, advertisement, .. } = command {
                kept.entry(cluster).or_insert(advertisement);
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, FxHashMap<ClusterId, Box<Advertisement>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
