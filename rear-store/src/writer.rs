//! The one writer: takes all commands that wait, decides each, makes them durable together, then answers.
//!
//! Nobody is answered before what was decided is on the disk and can be read. A command that is refused
//! writes nothing. When a commit fails, everyone in its batch is told so, and the fleet is built again
//! from what is durable.

mod batch;
mod contest;
mod gather;
mod handover;
mod keeper;
mod order;
mod parts;
mod portion;
mod reply;
mod trimming;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, RwLock};

use rear_engine::{Command, Duration, Fleet, Timestamp};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::journal::{Journal, Reader, Sharing};
use crate::meters::Meters;
use crate::news::Subscribers;
use crate::position::Position;
use crate::refreshments::Refreshments;
use crate::settings::Settings;
use crate::shared::Origin;
use crate::store::{Answer, Health, Shared, StartError, SubmitError};
use crate::timekeeper::Reading;
use crate::view::View;
use gather::{Crowd, Gathering};
use keeper::Keeper;
use order::weight;
use portion::Portion;
use trimming::Trimming;

pub(crate) use handover::Handed;
pub(crate) use reply::Reply;

/// How many bytes of commands are committed together: enough to share a sync, few enough to be quick.
pub const MAX_BATCH_BYTES: usize = 4 << 20;

/// How many reservations end, or clusters grow stale, in one batch at most: the next one goes on.
pub const MAX_DUE: usize = 1000;

/// So many batches in a row do not fail by chance: the store stops and says why.
const MAX_FAILURES: u32 = 3;

/// The longest sleep without looking at the clock, which may have been set.
const LONGEST_NAP: std::time::Duration = std::time::Duration::from_secs(1);

/// A command that waits.
pub(crate) struct Submission {
    command: Command,
    caller: Caller,
}

impl Submission {
    /// A command of this broker's own caller.
    pub(crate) fn own(command: Command, reply: Reply) -> Box<Self> {
        let caller = Caller { reply, origin: None, was_handed_over: false };
        Box::new(Self { command, caller })
    }
}

/// Who waits for an answer.
struct Caller {
    reply: Reply,
    /// The broker that handed the command over; `None` for one of this broker's own.
    origin: Option<Origin>,
    /// It was handed over, and nobody knows what became of it.
    was_handed_over: bool,
}

/// Something for the writer to do. Small: the queue has room for thousands from the beginning.
pub(crate) enum Work {
    Decide(Box<Submission>),
    ConfirmClock(Reply),
    Reconfigure(Box<Settings>, Reply),
    /// What another broker has handed over.
    Handed(Box<Handed>),
    /// Others have committed something.
    Follow,
}

// What a place in the queue takes is taken whether or not anyone waits there.
const _: () = assert!(size_of::<Work>() <= 32);

impl Work {
    pub(crate) fn answer(self, outcome: Result<Answer, SubmitError>) {
        match self {
            Self::Decide(submission) => submission.caller.reply.tell(outcome),
            Self::ConfirmClock(reply) | Self::Reconfigure(_, reply) => reply.tell(outcome),
            // Given back when it is dropped.
            Self::Handed(_) | Self::Follow => {}
        }
    }

    /// Whether someone waits for it.
    fn is_awaited(&self) -> bool {
        !matches!(self, Self::Follow | Self::Handed(_))
    }

    fn weight(&self) -> usize {
        match self {
            Self::Decide(submission) => weight(&submission.command),
            Self::ConfirmClock(_) | Self::Reconfigure(..) => order::RECORD,
            Self::Handed(handed) => handed.commands().map(weight).sum(),
            Self::Follow => 0,
        }
    }
}

/// Everything that the writer's thread owns.
pub(crate) struct Writer {
    journal: Box<dyn Journal>,
    settings: Settings,
    clock: Box<dyn Clock>,
    /// What is different where others write as well.
    sharing: Option<Sharing>,
    timekeeper: Keeper,
    fleet: Fleet,
    position: Position,
    trimming: Trimming,
    /// Who came together.
    gathering: Gathering,
    /// How much of what is due is done in one batch.
    portion: Portion,
    /// The same where others write as well: less than what may be, where that did not fit into an entry.
    due: usize,
    /// How many batches failed since one succeeded.
    failures: u32,
    /// Those who share the ledger could not be asked when they were last asked.
    away: bool,
    /// When there last was an entry of anyone, by the monotonic clock.
    last_entry: Duration,
    /// When something was last decided here, by the monotonic clock.
    last_decided: Duration,
    /// What was handed over may still be decided elsewhere, until an entry of this broker stands.
    unheard: bool,
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn load(
        mut journal: Box<dyn Journal>,
        settings: Settings,
        clock: Box<dyn Clock>,
    ) -> Result<Self, StartError> {
        let contents = journal.load()?;
        journal.shrink_to(contents.bytes)?;
        let meta = contents.meta;
        let sharing = journal.sharing();
        let mut timekeeper = Keeper::resume(meta.time_mark, sharing.as_ref(), clock.read());
        let now = timekeeper.read(clock.read()).now;
        let fleet = contents.into_fleet(settings.policy.clone(), now)?;
        let trimming = Trimming::load(settings.events, journal.reader(), meta.trimmed_through)?;
        let shared = Arc::new(Shared {
            view: RwLock::new(View::new(fleet.clone(), &meta, now)),
            refreshments: Refreshments::default(),
            subscribers: Subscribers::new(meta.position),
            health: watch::Sender::new(Health::default()),
            meters: Meters::default(),
        });
        let position = meta.position;
        Ok(Self {
            // Who comes where nobody is tells the time at once, for those who come next.
            last_entry: match sharing {
                Some(Sharing { company: false, .. }) => Duration::from_nanos(i64::MIN / 2),
                _ => clock.read().monotonic,
            },
            last_decided: clock.read().monotonic,
            unheard: false,
            journal,
            settings,
            clock,
            sharing,
            timekeeper,
            fleet,
            position,
            trimming,
            gathering: Gathering::default(),
            portion: Portion::default(),
            due: sharing.map_or(0, |sharing| sharing.due),
            failures: 0,
            away: false,
            shared,
        })
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    pub(crate) fn reader(&self) -> Arc<dyn Reader> {
        self.journal.reader()
    }

    /// Works until there is nothing more to do. A panic is an error like any other: it is told.
    pub(crate) fn run_to_the_end(mut self, waiting: &Receiver<Work>) {
        let shared = self.shared.clone();
        if catch_unwind(AssertUnwindSafe(|| self.run(waiting))).is_err() {
            let why = "the writer panicked; the log says where".to_owned();
            shared.health.send_modify(|health| health.failure = Some(why));
        }
    }

    /// Until every sender is gone and everything that was accepted is answered, or the ledger fails.
    fn run(&mut self, waiting: &Receiver<Work>) {
        if let Err(why) = self.catch_up().and_then(|()| self.work(waiting)) {
            self.shared.health.send_modify(|health| health.failure = Some(why.clone()));
            refuse_rest(waiting, &why, &self.shared.meters);
        }
    }

    /// What ended while nobody ran has ended before anything else is decided, however much it is.
    fn catch_up(&mut self) -> Result<(), String> {
        loop {
            let before = self.position;
            self.process(Vec::new())?;
            if self.position == before {
                return Ok(());
            }
        }
    }

    fn work(&mut self, waiting: &Receiver<Work>) -> Result<(), String> {
        loop {
            let work = match waiting.recv_timeout(self.nap()) {
                Ok(first) => self.gathering.take(first, waiting, self.batch_bytes()),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.shared.meters.taken(work.iter().filter(|work| work.is_awaited()).count());
            let (asked, began) = (Crowd::of(&work), self.clock.read().monotonic);
            self.process(work)?;
            let took = self.clock.read().monotonic.as_nanos().saturating_sub(began.as_nanos());
            self.gathering.took(asked, std::time::Duration::from_nanos(took.unsigned_abs()));
        }
    }

    /// How many bytes of commands are committed together.
    fn batch_bytes(&self) -> usize {
        self.sharing.map_or(MAX_BATCH_BYTES, |sharing| sharing.batch_bytes)
    }

    /// How long nothing will become due. While the clock is in doubt, nothing does.
    fn nap(&mut self) -> std::time::Duration {
        let Reading { now, alarm } = self.timekeeper.read(self.clock.read());
        if alarm.is_some() || self.away {
            return LONGEST_NAP;
        }
        let until = |due: Timestamp| u64::try_from(due.since(now).as_nanos()).unwrap_or(0);
        let due = self.fleet.next_due().map(until);
        due.map_or(LONGEST_NAP, |nanos| std::time::Duration::from_nanos(nanos).min(LONGEST_NAP))
    }
}

/// Nobody waits for a store that has stopped.
fn refuse_rest(waiting: &Receiver<Work>, why: &str, meters: &Meters) {
    while let Ok(work) = waiting.try_recv() {
        meters.taken(usize::from(work.is_awaited()));
        work.answer(Err(SubmitError::Stopped(why.to_owned())));
    }
}
