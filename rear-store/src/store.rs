//! The port: commands in and outcomes out, snapshots for reading, a feed of what changed, audit and backup.
//!
//! Nothing here knows where the ledger is kept: that is a [`Journal`]'s business.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, JoinHandle};

use rear_engine::fleet::Divergence;
use rear_engine::{ClusterId, Command, Refusal, Reservation};
use thiserror::Error;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::feed::{FeedError, Stretch, stretch};
use crate::journal::{Compass, Journal, JournalError, Reader, Standing};
use crate::meters::Meters;
use crate::news::{News, Subscribers};
use crate::position::{EventId, Position};
use crate::refreshments::{Refreshments, Word};
use crate::settings::Settings;
use crate::timekeeper::Alarm;
use crate::view::{MAX_PAGE, Tally, View};
use crate::writer::{Handed, Reply, Submission, Work, Writer};

/// How many commands may wait. More would wait longer than a client does.
pub const MAX_WAITING: usize = 4096;

/// What was decided, and since when it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The commit that it can be read from.
    pub position: Position,
    /// The reservation that the command was about, as the command left it: by the end of the commit, another may have ended it.
    pub reservation: Option<Arc<Reservation>>,
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
    #[error("{0}: nothing is granted until it is confirmed or comes back")]
    ClockJumped(Alarm),
    /// It may or may not have become durable; the same idempotency key makes a retry safe.
    #[error("the decision could not be made durable: {0}")]
    NotDurable(String),
    /// Those who share the ledger cannot be asked. Nothing has changed.
    #[error("nothing was changed: {0}")]
    CutOff(String),
    /// The store has stopped.
    #[error("the store has stopped: {0}")]
    Stopped(String),
}

/// How the store is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// The wall clock is not believed: nothing is granted and nothing expires.
    pub alarm: Option<Alarm>,
    /// Why nothing is decided any more. A restart recovers.
    pub failure: Option<String>,
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

/// What the writer and the readers share.
pub(crate) struct Shared {
    pub(crate) view: RwLock<View>,
    pub(crate) refreshments: Refreshments,
    pub(crate) subscribers: Subscribers,
    pub(crate) health: watch::Sender<Health>,
    pub(crate) meters: Meters,
}

/// A ledger with its writer. Dropping it finishes what was accepted.
pub struct Store {
    queue: Option<Arc<SyncSender<Work>>>,
    shared: Arc<Shared>,
    reader: Arc<dyn Reader>,
    /// Where others write as well.
    compass: Option<Arc<dyn Compass>>,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    /// Loads a ledger and starts its writer.
    pub fn start(
        mut journal: impl Journal + 'static,
        settings: impl Into<Settings>,
        clock: impl Clock,
    ) -> Result<Self, StartError> {
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let queue = Arc::new(queue);
        let bell = Arc::downgrade(&queue);
        journal.wake_by(Box::new(move || {
            if let Some(queue) = bell.upgrade() {
                // A writer with so much to do looks by itself.
                drop(queue.try_send(Work::Follow));
            }
        }));
        let door = Arc::downgrade(&queue);
        journal.take_in_by(Box::new(move |commands, origin, tell| {
            let handed = Handed::new(commands, origin, tell);
            if let Some(queue) = door.upgrade() {
                // Where there is no room, it is given back when it is dropped.
                drop(queue.try_send(Work::Handed(Box::new(handed))));
            }
        }));
        let compass = journal.compass();
        let writer = Writer::load(Box::new(journal), settings.into(), Box::new(clock))?;
        let (shared, reader) = (writer.shared(), writer.reader());
        let thread = thread::Builder::new().name("ledger writer".into()).spawn(move || {
            wake_in_time();
            writer.run_to_the_end(&waiting);
        })?;
        Ok(Self { queue: Some(queue), shared, reader, compass, thread: Some(thread) })
    }

    /// Queues a command; `reply` is called once, whatever happens: mostly from the writer's thread, when the
    /// decision is durable, or refused for reasons that are. It must not read the store: readers wait until everyone is told.
    pub fn submit_with(
        &self,
        command: Command,
        reply: impl FnOnce(Result<Answer, SubmitError>) + Send + 'static,
    ) {
        self.send(Work::Decide(Submission::own(command, Reply::new(reply))));
    }

    /// Queues a command and waits for the answer.
    pub fn submit(&self, command: Command) -> Result<Answer, SubmitError> {
        self.wait_for(|reply| Work::Decide(Submission::own(command, reply)))
    }

    /// Takes an advertisement that says what is known already and need not become durable: readers see it
    /// at once, and nobody waits. Any other command is given back, to be submitted.
    pub fn refresh(&self, command: Command) -> Result<(), Command> {
        let Command::Advertise { cluster, advertisement, holding } = command else {
            return Err(command);
        };
        let mut view = self.shared.view.write().unwrap_or_else(PoisonError::into_inner);
        let works = self.shared.health.borrow().failure.is_none();
        if works && view.refresh(&cluster, &advertisement, holding.as_deref()) {
            // Under the same lock, so that the writer finds the word that readers saw last.
            self.shared.refreshments.put(Word { cluster, advertisement, at: view.now() });
            return Ok(());
        }
        Err(Command::Advertise { cluster, advertisement, holding })
    }

    /// Someone has looked: the wall clock is right, however far it jumped.
    pub fn confirm_clock(&self) -> Result<Answer, SubmitError> {
        self.wait_for(Work::ConfirmClock)
    }

    /// From now on these settings count, as far as they can change while the writer runs: limits of time, retention of
    /// events, priorities. How clusters are scored stays.
    pub fn reconfigure(&self, settings: Settings) -> Result<Answer, SubmitError> {
        self.wait_for(|reply| Work::Reconfigure(Box::new(settings), reply))
    }

    fn wait_for(&self, work: impl FnOnce(Reply) -> Work) -> Result<Answer, SubmitError> {
        let (reply, answer) = sync_channel(1);
        self.send(work(Reply::new(move |outcome| {
            // Nobody listens any more only if the waiting thread is gone.
            drop(reply.send(outcome));
        })));
        answer.recv().unwrap_or_else(|_| Err(self.stopped("its writer is gone")))
    }

    fn send(&self, work: Work) {
        self.shared.meters.queued();
        let sent = match &self.queue {
            Some(queue) => queue.try_send(work),
            None => Err(TrySendError::Disconnected(work)),
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(work)) => {
                self.shared.meters.taken(1);
                work.answer(Err(SubmitError::Overloaded));
            }
            Err(TrySendError::Disconnected(work)) => {
                self.shared.meters.taken(1);
                work.answer(Err(self.stopped("it was closed")));
            }
        }
    }

    fn stopped(&self, otherwise: &str) -> SubmitError {
        SubmitError::Stopped(self.failure().unwrap_or_else(|| otherwise.to_owned()))
    }

    /// Everything that is durable, as of one commit. Hold it shortly: the next commit is shown to
    /// nobody before it is dropped.
    pub fn view(&self) -> RwLockReadGuard<'_, View> {
        self.shared.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fleet in numbers, also of each cluster if that is wanted. Many clusters are looked at page by page, so that no
    /// commit waits for all of them: the sums are of a moment, about.
    #[must_use]
    pub fn tally(&self, each: bool) -> Tally {
        let mut tally = Tally::default();
        let mut cursor = None;
        loop {
            let view = self.view();
            // A cursor of this process cannot be of another incarnation.
            let Ok(page) = view.clusters(cursor.as_ref(), MAX_PAGE) else { return tally };
            for cluster in &page.items {
                tally.add(view.fleet(), cluster, view.now(), each);
            }
            cursor = page.next;
            if cursor.is_none() {
                return tally;
            }
        }
    }

    /// Wakes whoever waits for news: of one cluster, or of everything.
    #[must_use]
    pub fn subscribe(&self, concerning: Option<&ClusterId>) -> News {
        self.shared.subscribers.subscribe(concerning)
    }

    /// For how many clusters someone waits for news, about: who left is noticed later.
    #[must_use]
    pub fn listened_for(&self) -> usize {
        self.shared.subscribers.listened_for()
    }

    /// What happened after an event, oldest first: of one cluster, or everything.
    pub fn events_after(
        &self,
        last: EventId,
        concerning: Option<&ClusterId>,
        limit: usize,
    ) -> Result<Stretch, FeedError> {
        stretch(&self.shared.view, &*self.reader, last, concerning, limit)
    }

    /// Where the shared journal stands; `None` for a ledger that nobody shares.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        self.compass.as_ref().map(|compass| compass.standing())
    }

    /// Asks for the last commit of anyone at this moment: once it is shown here, a reader has missed nothing. `tell` is
    /// called once, from any thread.
    pub fn ask_for_the_end(
        &self,
        tell: impl FnOnce(Result<Position, SubmitError>) + Send + 'static,
    ) {
        match &self.compass {
            None => tell(Ok(self.view().position())),
            Some(compass) => {
                compass.ask(Box::new(|end| tell(end.map_err(SubmitError::CutOff))));
            }
        }
    }

    /// How the store is, now and whenever that changes.
    #[must_use]
    pub fn health(&self) -> watch::Receiver<Health> {
        self.shared.health.subscribe()
    }

    /// What the writer has done since it began.
    #[must_use]
    pub fn meters(&self) -> &Meters {
        &self.shared.meters
    }

    /// Why the store has stopped; `None` while it works. A restart recovers.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.health.borrow().failure.clone()
    }

    /// Reads the ledger where it is kept, in snapshots: for audits and backups.
    #[must_use]
    pub fn reader(&self) -> Arc<dyn Reader> {
        self.reader.clone()
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

/// The writer's naps are short: it is woken when they end, and not fifty microseconds later.
fn wake_in_time() {
    // Where that cannot be had, naps are a little longer.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1_000));
}
