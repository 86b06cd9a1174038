//! The seam where a decided batch becomes durable: the commit of a local file, or a place in a journal that several brokers
//! share.
//!
//! Above it, decisions are made against a fleet in memory; below it, they are rows. [`Journal::commit`]
//! makes a whole batch durable or nothing of it; a [`Reader`] gives back what was committed, in snapshots
//! that never wait for the next commit.

use std::sync::Arc;

use rear_engine::decision::{Change, Event};
use rear_engine::fleet::{ClusterRecord, Divergence, Fleet};
use rear_engine::{ClusterId, Command, Policy, Reservation, ReservationId, Resources, Timestamp};
use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::position::{EventId, Position};
use crate::records::meta::Meta;
use crate::records::{InvalidField, SealError};
use crate::rows::{ReadRows, read_all, read_events_after, read_meta};
use crate::shared::{EntryError, Fork, Origin};

/// Decisions that become durable together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its place in the history: one more than the commit before it.
    pub position: Position,
    /// The latest time that was given out.
    pub time_mark: Timestamp,
    /// What becomes true, in this order.
    pub changes: Vec<Change>,
    /// What is told of it, in this order.
    pub events: Vec<Event>,
    /// Events of this commit and all before it are kept no longer.
    pub trim_through: Option<Position>,
}

impl Batch {
    /// A batch in which nothing happens.
    #[must_use]
    pub fn empty(position: Position, time_mark: Timestamp) -> Self {
        Self { position, time_mark, changes: Vec::new(), events: Vec::new(), trim_through: None }
    }

    /// Leaves out sums of the ledger that a later one of the same cluster replaces: all of it becomes true at once.
    pub(crate) fn leave_out_passing_sums(&mut self) {
        let mut last = FxHashSet::default();
        let replaced = |change: &Change| match change {
            Change::Ledger { cluster, .. } => !last.insert(cluster.clone()),
            _ => false,
        };
        let mut replaced: Vec<bool> = self.changes.iter().rev().map(replaced).collect();
        self.changes.retain(|_| replaced.pop() != Some(true));
    }
}

/// Where batches become durable.
pub trait Journal: Send {
    /// Makes a batch durable, whole or not at all.
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError>;

    /// Reads what was committed, from any thread, also while something is being committed.
    fn reader(&self) -> Arc<dyn Reader>;

    /// Everything that was committed.
    fn load(&self) -> Result<Contents, JournalError> {
        self.reader().load()
    }

    /// Gives back space that so many bytes of rows do not need. Called once, before anyone reads or writes.
    fn shrink_to(&mut self, _bytes: u64) -> Result<(), JournalError> {
        Ok(())
    }

    /// Shows after an error that commits work again, and says where the journal is then.
    fn prove(&mut self, empty: &Batch) -> Result<Position, JournalError> {
        self.commit(empty).map(|()| empty.position)
    }

    /// What is different where others commit as well; `None` where nobody else does.
    fn sharing(&self) -> Option<Sharing> {
        None
    }

    /// Whether someone else is there at this moment whose clock was believed.
    fn has_company(&self) -> bool {
        false
    }

    /// The clock of this broker was believed: others may compare theirs with what it writes.
    fn settled(&mut self) {}

    /// The next that others have committed, if there is something. It is in the rows already.
    fn follow(&mut self) -> Result<Followed, JournalError> {
        Ok(Followed::Nothing)
    }

    /// Whether the rows are what everyone agrees on at this moment: [`JournalError::Overtaken`] where others have committed more.
    fn confirm(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    /// Calls this whenever others have committed something.
    fn wake_by(&mut self, _wake: Wake) {}

    /// Hands commands to the broker that was faster, if there is one at this moment, and waits for what becomes of them.
    fn hand_over(&mut self, _commands: &[&Command]) -> HandedOver {
        HandedOver::Kept
    }

    /// Whether commands that another broker handed over may be decided here and now.
    fn may_decide(&self, _origin: &Origin) -> bool {
        false
    }

    /// Calls this with what other brokers hand over.
    fn take_in_by(&mut self, _take_in: TakeIn) {}

    /// Tells where the journal stands, from any thread; `None` where nobody else commits.
    fn compass(&self) -> Option<Arc<dyn Compass>> {
        None
    }
}

/// What became of commands that were to be handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandedOver {
    /// Nobody has them.
    Kept,
    /// The other broker has decided some of them.
    Decided(Decided),
    /// Nobody knows. They may still be decided until an entry of this broker stands in the journal.
    Unheard,
}

/// What was decided of commands that were handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The commit after which it is so.
    pub position: Position,
    /// For each command the reservation that it is about; `None` where nothing was decided.
    pub each: Vec<Option<ReservationId>>,
}

/// Takes in commands of another broker, and tells what became of them.
pub type TakeIn = Box<dyn Fn(Vec<Command>, Origin, TellDecided) + Send + Sync>;

/// Is told once what was decided; `None` where that is not known.
pub type TellDecided = Box<dyn FnOnce(Option<Decided>) + Send>;

/// Wakes whoever follows.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// Is told where a journal ends, or why that is not known.
pub type TellEnd = Box<dyn FnOnce(Result<Position, String>) + Send>;

/// What is different where others commit as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// How many bytes of commands fit into one commit, about.
    pub batch_bytes: usize,
    /// How much that is due fits into one commit, beside a command.
    pub due: usize,
    /// Whether someone else was there already.
    pub company: bool,
    /// A number that no other broker has, about: so that not everyone does the same at the same moment.
    pub broker: u128,
}

/// What others have committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// Nothing that is known of.
    Nothing,
    /// One batch.
    Batch(Box<Batch>),
    /// More than is still told batch by batch: everything has to be loaded anew.
    Anew,
}

/// Where a shared journal stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// How old what is known here may be.
    pub age: std::time::Duration,
    /// What was applied here last.
    pub applied: Position,
    /// The last entry that is known of.
    pub known: Position,
    /// Why nothing can be committed; `None` while all is well.
    pub trouble: Option<String>,
    /// How long ago the last snapshot was made, by the journal's time, and the entry that it ends with.
    pub snapshot: Option<(std::time::Duration, Position)>,
    /// How often a request to the journal was made again.
    pub retries: u64,
    /// How many brokers are there, this one among them.
    pub brokers: usize,
}

impl Standing {
    /// After so long without a word, nobody should rely on what is known here.
    pub const STALE_AFTER: std::time::Duration = std::time::Duration::from_secs(3);

    /// Why nobody should rely on what is known here.
    #[must_use]
    pub fn stale(&self) -> Option<String> {
        let silent = self.age > Self::STALE_AFTER;
        let unheard = || format!("etcd was not heard of for {} s", self.age.as_secs());
        silent.then(|| self.trouble.clone().unwrap_or_else(unheard))
    }
}

/// Tells where a shared journal stands.
pub trait Compass: Send + Sync {
    /// As far as is known here.
    fn standing(&self) -> Standing;

    /// Asks where the journal ends at this moment.
    fn ask(&self, tell: TellEnd);
}

/// Reads what was committed.
pub trait Reader: Send + Sync {
    /// The rows as they are now; later commits do not change what it shows.
    fn snapshot(&self) -> Result<Box<dyn ReadRows>, JournalError>;

    /// Everything but the events.
    fn load(&self) -> Result<Contents, JournalError> {
        read_all(&*self.snapshot()?)
    }

    /// What the ledger knows of itself.
    fn meta(&self) -> Result<Meta, JournalError> {
        read_meta(&*self.snapshot()?)
    }

    /// The events after one of them, oldest first, at most `limit` of them.
    fn events_after(
        &self,
        last: EventId,
        limit: usize,
    ) -> Result<Vec<(EventId, Event)>, JournalError> {
        read_events_after(&*self.snapshot()?, last, limit)
    }
}

/// Everything that was committed but the events, as records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// What the ledger knows of itself.
    pub meta: Meta,
    /// Every cluster, in order of its id.
    pub clusters: Vec<ClusterRecord>,
    /// The sum of the live promises on each cluster that ever had one, in order of its id.
    pub ledgers: Vec<(ClusterId, Resources)>,
    /// Every reservation, in order of its id.
    pub reservations: Vec<Reservation>,
    /// How long all of these are as rows.
    pub bytes: u64,
}

/// Why a batch did not become durable, or could not be read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A batch that does not follow the last one.
    #[error("a batch at {found} cannot follow {last}")]
    OutOfOrder {
        /// The last commit.
        last: Position,
        /// Where the batch wants to be.
        found: Position,
    },
    /// A change of something that is not there.
    #[error("a change names something that is not in table {0}")]
    Missing(&'static str),
    /// A record that is damaged, or of another program.
    #[error("a record cannot be read")]
    Record(#[from] SealError),
    /// A record that makes no sense.
    #[error("a record of table {table} makes no sense")]
    Field {
        /// Which table.
        table: &'static str,
        /// What is wrong with it.
        source: InvalidField,
    },
    /// The disk does not do what it should.
    #[error("the disk refuses")]
    Disk(#[source] std::io::Error),
    /// The file does not do what it should.
    #[error("the ledger's file failed")]
    Storage(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Someone else has committed first; nothing of this batch was. Follow, and decide again.
    #[error("another broker was faster")]
    Overtaken,
    /// Too large to be committed at once; nothing of it was.
    #[error("a batch of {bytes} bytes is too large for one entry")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// Nothing was committed.
    #[error("etcd cannot be reached, or refuses: {0}")]
    OutOfReach(String),
    /// It may have been committed, or still be on its way. Nothing else may be before that is known.
    #[error("etcd did not answer in time, and whether it has the entry is not known yet: {0}")]
    InDoubt(String),
    /// What is there is not what was followed.
    #[error("nothing is granted until an administrator decides")]
    Fork(#[from] Fork),
    /// An entry that cannot be followed.
    #[error("the journal cannot be followed")]
    Entry(#[from] EntryError),
}

impl Contents {
    /// The fleet in memory that these records describe, which listens from `now` on: silence while nobody listened
    /// is not held against a requester. Rows that contradict each other are found here.
    pub fn into_fleet(self, policy: Policy, now: Timestamp) -> Result<Fleet, Divergence> {
        let Meta { position, recovered_through, .. } = self.meta;
        let mut fleet = Fleet::restored(policy, position.incarnation, recovered_through);
        for record in self.clusters {
            fleet.apply(Change::Cluster(Box::new(record)))?;
        }
        for reservation in self.reservations {
            fleet.apply(Change::Reservation(Arc::new(reservation)))?;
        }
        for (cluster, total) in self.ledgers {
            fleet.apply(Change::Ledger { cluster, total })?;
        }
        fleet.settle();
        fleet.listen_from(now);
        Ok(fleet)
    }
}
