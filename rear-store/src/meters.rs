//! What the writer has done since it began, for whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};

use rear_engine::reservation::{Ending, Release};
use rear_engine::{Change, Happening};

use crate::journal::Batch;

/// Counts that only grow.
#[derive(Debug, Default)]
pub struct Meters {
    commits: AtomicU64,
    changes: AtomicU64,
    failed_commits: AtomicU64,
    granted: AtomicU64,
    expired: AtomicU64,
    requesters_gone: AtomicU64,
    became_stale: AtomicU64,
    retired: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Batches that became durable.
    pub commits: u64,
    /// Changes in them.
    pub changes: u64,
    /// Batches that did not become durable.
    pub failed_commits: u64,
    /// Reservations that were granted.
    pub granted: u64,
    /// Reservations whose time was over.
    pub expired: u64,
    /// Reservations whose requester was not heard of for too long, or forgotten.
    pub requesters_gone: u64,
    /// Clusters that had not advertised for too long.
    pub became_stale: u64,
    /// Reservations that had ended long ago and are remembered no longer.
    pub retired: u64,
}

impl Meters {
    /// The counts at this moment.
    #[must_use]
    pub fn read(&self) -> Counted {
        let read = |meter: &AtomicU64| meter.load(Ordering::Relaxed);
        Counted {
            commits: read(&self.commits),
            changes: read(&self.changes),
            failed_commits: read(&self.failed_commits),
            granted: read(&self.granted),
            expired: read(&self.expired),
            requesters_gone: read(&self.requesters_gone),
            became_stale: read(&self.became_stale),
            retired: read(&self.retired),
        }
    }

    /// A batch is durable.
    pub(crate) fn committed(&self, batch: &Batch) {
        add(&self.commits, 1);
        add(&self.changes, batch.changes.len() as u64);
        for event in &batch.events {
            match &event.what {
                Happening::Reserved => add(&self.granted, 1),
                Happening::Ended(Ending::Released(Release::Expired)) => add(&self.expired, 1),
                Happening::Ended(Ending::Released(Release::RequesterGone)) => {
                    add(&self.requesters_gone, 1);
                }
                Happening::BecameStale => add(&self.became_stale, 1),
                _ => {}
            }
        }
        let retired = batch.changes.iter().filter(|change| matches!(change, Change::Dropped(_)));
        add(&self.retired, retired.count() as u64);
    }

    /// A batch did not become durable.
    pub(crate) fn failed(&self) {
        add(&self.failed_commits, 1);
    }
}

fn add(meter: &AtomicU64, count: u64) {
    meter.fetch_add(count, Ordering::Relaxed);
}
