//! The one writer: takes all commands that wait, decides each, makes them durable together, then answers.
//!
//! Nobody is answered before what was decided is on the disk. A command that is refused writes nothing.
//! When a commit fails, everyone in its batch is told so, and the fleet is built again from what is durable.

mod batch;
mod order;

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rear_engine::fleet::Divergence;
use rear_engine::{Command, Fleet, Policy, Refusal, Reservation, Timestamp};
use thiserror::Error;

use crate::clock::Clock;
use crate::journal::{Journal, JournalError};
use crate::position::Position;
use crate::timekeeper::{Alarm, Timekeeper};
use order::weight;

/// How many commands may wait. More would wait longer than a client does.
pub const MAX_WAITING: usize = 4096;

/// How many bytes of commands are committed together: enough to share a sync, few enough to be quick.
pub const MAX_BATCH_BYTES: usize = 4 << 20;

/// How many reservations end, or clusters grow stale, in one batch: the next one goes on.
pub const MAX_DUE: usize = 1000;

/// The longest sleep without looking at the clock, which may have been set.
const LONGEST_NAP: std::time::Duration = std::time::Duration::from_secs(1);

/// What was decided, and since when it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The commit that it can be read from.
    pub position: Position,
    /// The reservation that the command was about, as it is after the commit.
    pub reservation: Option<Reservation>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// It was decided, against the caller. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too many commands wait already. Nothing has changed.
    #[error("too many commands are waiting")]
    Overloaded,
    /// The clock jumped: nothing is granted until it is confirmed or comes back.
    #[error("the clock jumped ahead by {}: nothing is granted until it is confirmed or comes back", .0.ahead_by)]
    ClockJumped(Alarm),
    /// It may or may not have become durable; the same idempotency key makes a retry safe.
    #[error("the decision could not be made durable: {0}")]
    NotDurable(String),
    /// The store has stopped.
    #[error("the store has stopped: {0}")]
    Stopped(String),
}

/// How a caller is told.
pub(crate) type Reply = Box<dyn FnOnce(Result<Answer, SubmitError>) + Send>;

/// A command that waits.
pub(crate) struct Submission {
    pub(crate) command: Command,
    pub(crate) reply: Reply,
}

/// A ledger with its writer. Dropping it finishes what was accepted.
pub struct Store {
    queue: Option<SyncSender<Submission>>,
    stopped: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a ledger cannot be opened for writing.
#[derive(Debug, Error)]
pub enum StartError {
    /// It cannot be read.
    #[error("the ledger cannot be read")]
    Journal(#[from] JournalError),
    /// Its rows contradict each other.
    #[error("the ledger contradicts itself")]
    Divergence(#[from] Divergence),
    /// There is no thread to be had.
    #[error("the writer's thread cannot be started")]
    Thread(#[from] std::io::Error),
}

impl Store {
    /// Loads a ledger and starts its writer.
    pub fn start(
        journal: impl Journal + Send + 'static,
        policy: Policy,
        clock: impl Clock,
    ) -> Result<Self, StartError> {
        let stopped = Arc::new(Mutex::new(None));
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let mut writer = Writer::load(Box::new(journal), policy, Box::new(clock), stopped.clone())?;
        let thread = thread::Builder::new()
            .name("ledger writer".into())
            .spawn(move || writer.run(&waiting))?;
        Ok(Self { queue: Some(queue), stopped, thread: Some(thread) })
    }

    /// Queues a command; `reply` is called once, from the writer's thread, when it is durable or refused.
    pub fn submit_with(
        &self,
        command: Command,
        reply: impl FnOnce(Result<Answer, SubmitError>) + Send + 'static,
    ) {
        let submission = Submission { command, reply: Box::new(reply) };
        let sent = match &self.queue {
            Some(queue) => queue.try_send(submission),
            None => Err(TrySendError::Disconnected(submission)),
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(refused)) => (refused.reply)(Err(SubmitError::Overloaded)),
            Err(TrySendError::Disconnected(refused)) => {
                let why = self.failure().unwrap_or_else(|| "it was closed".to_owned());
                (refused.reply)(Err(SubmitError::Stopped(why)));
            }
        }
    }

    /// Queues a command and waits for the answer.
    pub fn submit(&self, command: Command) -> Result<Answer, SubmitError> {
        let (reply, answer) = sync_channel(1);
        self.submit_with(command, move |outcome| {
            // Nobody listens any more only if the waiting thread is gone.
            drop(reply.send(outcome));
        });
        answer.recv().unwrap_or_else(|_| {
            let why = self.failure().unwrap_or_else(|| "its writer is gone".to_owned());
            Err(SubmitError::Stopped(why))
        })
    }

    /// Why the store has stopped; `None` while it works. A restart recovers.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the writer was told to its callers when their replies were dropped.
            drop(thread.join());
        }
    }
}

/// Everything that the writer's thread owns.
pub(crate) struct Writer {
    journal: Box<dyn Journal + Send>,
    policy: Policy,
    clock: Box<dyn Clock>,
    timekeeper: Timekeeper,
    fleet: Fleet,
    position: Position,
    stopped: Arc<Mutex<Option<String>>>,
}

impl Writer {
    fn load(
        journal: Box<dyn Journal + Send>,
        policy: Policy,
        clock: Box<dyn Clock>,
        stopped: Arc<Mutex<Option<String>>>,
    ) -> Result<Self, StartError> {
        let contents = journal.load()?;
        let mut timekeeper = Timekeeper::resume(contents.meta.time_mark);
        let now = timekeeper.read(clock.read()).now;
        let position = contents.meta.position;
        let fleet = contents.into_fleet(policy.clone(), now)?;
        Ok(Self { journal, policy, clock, timekeeper, fleet, position, stopped })
    }

    /// Until every sender is gone and everything that was accepted is answered, or the ledger fails.
    fn run(&mut self, waiting: &Receiver<Submission>) {
        loop {
            let submissions = match waiting.recv_timeout(self.nap()) {
                Ok(first) => take_waiting(first, waiting),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(why) = self.process(submissions) {
                *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
                refuse_rest(waiting, &why);
                return;
            }
        }
    }

    /// How long nothing will become due.
    fn nap(&mut self) -> std::time::Duration {
        let now = self.timekeeper.read(self.clock.read()).now;
        let until = |due: Timestamp| u64::try_from(due.since(now).as_nanos()).unwrap_or(0);
        let due = self.fleet.next_due().map(until);
        due.map_or(LONGEST_NAP, |nanos| std::time::Duration::from_nanos(nanos).min(LONGEST_NAP))
    }
}

/// All that waits, up to the limit.
fn take_waiting(first: Submission, waiting: &Receiver<Submission>) -> Vec<Submission> {
    let mut bytes = weight(&first.command);
    let mut taken = vec![first];
    while bytes < MAX_BATCH_BYTES
        && let Ok(next) = waiting.try_recv()
    {
        bytes += weight(&next.command);
        taken.push(next);
    }
    taken
}

/// Nobody waits for a store that has stopped.
fn refuse_rest(waiting: &Receiver<Submission>, why: &str) {
    while let Ok(submission) = waiting.try_recv() {
        (submission.reply)(Err(SubmitError::Stopped(why.to_owned())));
    }
}
