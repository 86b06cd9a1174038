//! What the writer has done since it began, for whoever watches it.

mod distribution;

use std::sync::atomic::{AtomicU64, Ordering};

use rear_engine::reservation::{Ending, Release};
use rear_engine::{Change, Duration, Happening};

use crate::journal::Batch;

pub use distribution::Distributed;
use distribution::Distribution;

/// How many commands shared a commit: from one to all that may wait.
const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096];

/// How many microseconds a commit took: from a fast disk to one that fails.
const COMMIT_BOUNDS: &[u64] =
    &[250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// Counts of what the writer has done, and of what waits for it.
#[derive(Debug)]
pub struct Meters {
    waiting: AtomicU64,
    batches: Distribution,
    commit_micros: Distribution,
    commits: AtomicU64,
    changes: AtomicU64,
    failed_commits: AtomicU64,
    granted: AtomicU64,
    expired: AtomicU64,
    requesters_gone: AtomicU64,
    became_stale: AtomicU64,
    retired: AtomicU64,
    followed: AtomicU64,
    lost: AtomicU64,
    doubted: AtomicU64,
    handed_over: AtomicU64,
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
    /// Batches of other brokers that were applied here.
    pub followed: u64,
    /// Batches that were decided again because another broker was faster.
    pub lost: u64,
    /// Batches of which it was not known in time whether they are durable.
    pub doubted: u64,
    /// Commands that another broker has decided for this one.
    pub handed_over: u64,
}

impl Default for Meters {
    fn default() -> Self {
        let zero = AtomicU64::default;
        Self {
            waiting: zero(),
            batches: Distribution::new(BATCH_BOUNDS),
            commit_micros: Distribution::new(COMMIT_BOUNDS),
            commits: zero(),
            changes: zero(),
            failed_commits: zero(),
            granted: zero(),
            expired: zero(),
            requesters_gone: zero(),
            became_stale: zero(),
            retired: zero(),
            followed: zero(),
            lost: zero(),
            doubted: zero(),
            handed_over: zero(),
        }
    }
}

impl Meters {
    /// How many commands wait for the writer.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many commands each commit was shared by.
    #[must_use]
    pub fn batches(&self) -> Distributed {
        self.batches.read()
    }

    /// How many microseconds each commit took.
    #[must_use]
    pub fn commit_micros(&self) -> Distributed {
        self.commit_micros.read()
    }

    /// One more waits for the writer.
    pub(crate) fn queued(&self) {
        add(&self.waiting, 1);
    }

    /// So many wait no longer.
    pub(crate) fn taken(&self, count: usize) {
        self.waiting.fetch_sub(count as u64, Ordering::Relaxed);
    }

    /// A commit has succeeded, for so many commands, in this time.
    pub(crate) fn shared_by(&self, commands: usize, took: Duration) {
        self.batches.add(commands as u64);
        self.commit_micros.add(u64::try_from(took.as_nanos() / 1000).unwrap_or(0));
    }

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
            followed: read(&self.followed),
            lost: read(&self.lost),
            doubted: read(&self.doubted),
            handed_over: read(&self.handed_over),
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

    /// A batch of another broker was applied.
    pub(crate) fn followed(&self) {
        add(&self.followed, 1);
    }

    /// Another broker was faster.
    pub(crate) fn lost(&self) {
        add(&self.lost, 1);
    }

    /// Whether a batch is durable was not known in time.
    pub(crate) fn doubted(&self) {
        add(&self.doubted, 1);
    }

    /// Another broker has decided so many commands for this one.
    pub(crate) fn handed_over(&self, commands: usize) {
        add(&self.handed_over, commands as u64);
    }

    /// A batch did not become durable.
    pub(crate) fn failed(&self) {
        add(&self.failed_commits, 1);
    }
}

fn add(meter: &AtomicU64, count: u64) {
    meter.fetch_add(count, Ordering::Relaxed);
}
