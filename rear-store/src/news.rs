//! Who wants to know when something has changed, and is woken only by what concerns them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rear_engine::ClusterId;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::position::Position;

/// The last commit that concerned someone. Waiting works in any async runtime.
pub type News = watch::Receiver<Position>;

/// Everyone who wants to know.
#[derive(Debug)]
pub(crate) struct Subscribers {
    of_everything: watch::Sender<Position>,
    of_clusters: Mutex<FxHashMap<ClusterId, watch::Sender<Position>>>,
}

impl Subscribers {
    pub(crate) fn new(position: Position) -> Self {
        let of_everything = watch::Sender::new(position);
        Self { of_everything, of_clusters: Mutex::default() }
    }

    pub(crate) fn subscribe(&self, concerning: Option<&ClusterId>) -> News {
        let Some(cluster) = concerning else { return self.of_everything.subscribe() };
        let present = *self.of_everything.borrow();
        let mut senders = self.of_clusters();
        // Those who left are noticed when the map would grow.
        if senders.len() == senders.capacity() {
            senders.retain(|_, sender| sender.receiver_count() > 0);
        }
        let sender = senders.entry(cluster.clone());
        sender.or_insert_with(|| watch::Sender::new(present)).subscribe()
    }

    /// How many clusters are remembered here: those that someone waits for, and some that nobody does any more.
    pub(crate) fn listened_for(&self) -> usize {
        self.of_clusters().len()
    }

    pub(crate) fn tell(&self, position: Position, touched: &BTreeSet<ClusterId>) {
        self.of_everything.send_replace(position);
        let senders = self.of_clusters();
        for sender in touched.iter().filter_map(|cluster| senders.get(cluster)) {
            sender.send_replace(position);
        }
    }

    /// After a commit of which it is not known whether it happened.
    pub(crate) fn tell_everyone(&self, position: Position) {
        self.of_everything.send_replace(position);
        self.of_clusters().values().for_each(|sender| {
            sender.send_replace(position);
        });
    }

    fn of_clusters(&self) -> MutexGuard<'_, FxHashMap<ClusterId, watch::Sender<Position>>> {
        self.of_clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
