//! One batch: decide each command, commit all, show it to readers, answer everyone.

use std::sync::{Arc, PoisonError};

use rear_engine::fleet::Undo;
use rear_engine::{
    Command, Decision, Duration, Fleet, Refusal, Reservation, Subject, Timestamp, decide,
};

use super::order::{Turn, sort, turn};
use super::trimming::Trimming;
use super::{Caller, MAX_DUE, MAX_FAILURES, Reply, Submission, Work, Writer};
use crate::chain::chain;
use crate::journal::{Batch, JournalError};
use crate::position::Position;
use crate::records::meta::Meta;
use crate::refreshments::Word;
use crate::settings::Settings;
use crate::shared::EntryError;
use crate::steps::step;
use crate::store::{Answer, SubmitError};
use crate::timekeeper::Reading;
use crate::view::View;

/// Someone who is answered once the batch is durable: also a refusal may rest on what is decided in it.
pub(super) struct Waiting {
    pub(super) reply: Reply,
    pub(super) decided: Outcome,
}

/// The reservation as a command left it, if it was about one: what comes later in its batch may end that.
pub(super) type Outcome = Result<Option<Arc<Reservation>>, SubmitError>;

/// A batch that is being decided.
pub(super) struct Draft {
    pub(super) batch: Batch,
    pub(super) durable: bool,
    /// What was decided about each command, in order.
    pub(super) decided: Vec<Outcome>,
    /// Why nothing more can be decided.
    pub(super) failure: Option<String>,
    /// How to forget it, where it may come to nothing.
    pub(super) undo: Vec<Undo>,
    /// What was acknowledged before it was decided here: it must be decided again if this comes to nothing.
    pub(super) acknowledged: Vec<Word>,
}

impl Draft {
    pub(super) fn new(position: Position, now: Timestamp) -> Self {
        let batch = Batch::empty(position, now);
        Self {
            batch,
            durable: false,
            decided: Vec::new(),
            failure: None,
            undo: Vec::new(),
            acknowledged: Vec::new(),
        }
    }
}

impl Writer {
    /// Decides, commits and answers. An error is the end: it was told to everyone in the batch.
    pub(super) fn process(&mut self, work: Vec<Work>) -> Result<(), String> {
        step!("taken");
        let Parted { mut submissions, confirmed, reconfigured } = part(work);
        if self.sharing.is_some() {
            return self.contend(submissions, confirmed, reconfigured);
        }
        let began = self.clock.read().monotonic;
        let reading = self.look_at_the_clock(!confirmed.is_empty());
        let mut draft = Draft::new(self.position, reading.now);
        let mut waiting = Vec::with_capacity(submissions.len());
        for (settings, reply) in reconfigured {
            self.reconfigure(*settings, reading.now);
            waiting.push(Waiting { reply, decided: Ok(None) });
        }
        let confirmed = confirmed.into_iter();
        waiting.extend(confirmed.map(|reply| Waiting { reply, decided: Ok(None) }));
        sort(&mut submissions, &self.settings.priorities);
        let (commands, callers) = apart(submissions);
        self.decide_all(commands, reading, &mut draft);
        step!("decided");
        let Draft { mut batch, durable, decided, failure, undo: _, acknowledged: _ } = draft;
        let decided = callers.into_iter().zip(decided);
        waiting.extend(decided.map(|(caller, decided)| Waiting { reply: caller.reply, decided }));
        let outcome = match failure {
            Some(why) => Err(why),
            None if durable => {
                self.commit(&mut batch, waiting.len()).map_err(|error| chain(&error))
            }
            None => Ok(()),
        };
        step!("committed");
        let outcome = outcome.and_then(|()| self.show(batch, |_| ()));
        step!("shown");
        self.answer(waiting, &outcome);
        step!("answered");
        self.adjust_portion(began, reading.now);
        match outcome {
            // Where nothing had to become durable, nothing was shown to work.
            Ok(()) if durable => self.failures = 0,
            Ok(()) => {}
            Err(why) => self.rebuild(&why)?,
        }
        Ok(())
    }

    /// Where more is due than was done, the next portion is as large as this one was quick.
    fn adjust_portion(&mut self, began: Duration, now: Timestamp) {
        if self.more_is_due(now) {
            let took = self.clock.read().monotonic.as_nanos() - began.as_nanos();
            self.portion.took(Duration::from_nanos(took));
        }
    }

    /// Readers and the writer go by the same rules; a failed commit does not bring the old ones back.
    pub(super) fn reconfigure(&mut self, settings: Settings, now: Timestamp) {
        let Settings { policy, events, priorities } = settings;
        self.fleet.keep_time_by(&policy, now);
        let mut view = self.shared.view.write().unwrap_or_else(PoisonError::into_inner);
        view.keep_time_by(&policy, now);
        drop(view);
        self.trimming.keep(events);
        let policy = self.fleet.policy().clone();
        self.settings = Settings { policy, events, priorities };
    }

    pub(super) fn look_at_the_clock(&mut self, confirmed: bool) -> Reading {
        let clocks = self.clock.read();
        let keeper = &mut self.timekeeper;
        let reading = if confirmed { keeper.confirm(clocks) } else { keeper.read(clocks) };
        self.shared.health.send_if_modified(|health| {
            let changed = health.alarm.is_some() != reading.alarm.is_some();
            health.alarm = reading.alarm;
            changed
        });
        reading
    }

    pub(super) fn decide_all(
        &mut self,
        commands: Vec<Command>,
        reading: Reading,
        draft: &mut Draft,
    ) {
        let limit = self.due_at_once(self.portion.size());
        // What is forgotten is unknown to every command of the batch, so that none names what is gone after it.
        let faded = [Command::Retire { limit }];
        // What time alone brings about, after what frees capacity and before what takes it.
        let due = [Command::Expire { limit }, Command::MarkStale { limit }];
        self.take_in_words(reading, draft);
        self.decide_due(&faded, reading, draft);
        let mut rest = commands.into_iter().peekable();
        while let Some(ending) = rest.next_if(|next| turn(next) == Turn::Endings) {
            self.decide_one(ending, reading, draft);
        }
        self.decide_due(&due, reading, draft);
        self.trim(reading, draft);
        for command in rest {
            self.decide_one(command, reading, draft);
        }
    }

    fn decide_one(&mut self, command: Command, reading: Reading, draft: &mut Draft) {
        let waits_for_room = turn(&command) == Turn::Grants && self.more_has_ended(reading.now);
        let again = waits_for_room.then(|| command.clone());
        let mut decided = self.decide(command, reading, draft);
        // A portion may be too small for whoever comes in the middle of very many ends: nobody is refused for lack of room
        // that has ended.
        if let (true, Some(again)) = (is_lack_of_room(&decided), again) {
            let limit = self.due_at_once(MAX_DUE);
            self.decide_due(&[Command::Expire { limit }], reading, draft);
            decided = self.decide(again, reading, draft);
            if is_lack_of_room(&decided) && self.more_has_ended(reading.now) {
                decided = Err(SubmitError::Overloaded);
            }
        }
        draft.decided.push(decided);
    }

    /// How much of what is due goes into one batch: so much, or what fits where others write as well.
    fn due_at_once(&self, alone: usize) -> usize {
        if self.sharing.is_some() { self.due } else { alone }
    }

    fn more_has_ended(&self, now: Timestamp) -> bool {
        self.fleet.next_end().is_some_and(|end| end <= now)
    }

    pub(super) fn more_is_due(&self, now: Timestamp) -> bool {
        self.fleet.next_due().is_some_and(|due| due <= now)
    }

    pub(super) fn decide(
        &mut self,
        command: Command,
        reading: Reading,
        draft: &mut Draft,
    ) -> Outcome {
        if draft.failure.is_some() {
            return Ok(None);
        }
        if let Some(alarm) = reading.alarm
            && turn(&command) == Turn::Grants
        {
            return Err(SubmitError::ClockJumped(alarm));
        }
        let decision = decide(&self.fleet, command, reading.now)?;
        let subject = decision.subject.clone();
        self.accept(decision, draft);
        Ok(self.reservation_of(&subject))
    }

    /// By the broker's time; not while the clock is in doubt.
    fn decide_due(&mut self, due: &[Command], reading: Reading, draft: &mut Draft) {
        if reading.alarm.is_some() {
            return;
        }
        for command in due {
            match decide(&self.fleet, command.clone(), reading.now) {
                Ok(due) => self.accept(due, draft),
                Err(refusal) => draft.failure = Some(refusal.to_string()),
            }
        }
    }

    fn trim(&mut self, reading: Reading, draft: &mut Draft) {
        if reading.alarm.is_some() {
            return;
        }
        match self.trimming.due(reading.now) {
            Ok(through) => {
                draft.batch.trim_through = through;
                draft.durable |= through.is_some();
            }
            Err(error) => draft.failure = Some(chain(&error)),
        }
    }

    /// True in the writer's memory at once, so that the next decision sees it.
    fn accept(&mut self, decision: Decision, draft: &mut Draft) {
        draft.durable |= decision.is_durable();
        draft.batch.events.extend(decision.events);
        draft.batch.changes.extend(decision.changes.iter().cloned());
        for change in decision.changes {
            if self.sharing.is_some() {
                draft.undo.push(self.fleet.before(&change));
            }
            if let Err(divergence) = self.fleet.apply(change) {
                draft.failure = Some(divergence.to_string());
                return;
            }
        }
    }

    pub(super) fn commit(
        &mut self,
        batch: &mut Batch,
        commands: usize,
    ) -> Result<(), JournalError> {
        batch.position = self.position.next().ok_or(EntryError::Full)?;
        batch.leave_out_passing_sums();
        let began = self.clock.read().monotonic;
        self.journal.commit(batch).inspect_err(|_| self.shared.meters.failed())?;
        let ended = self.clock.read().monotonic;
        let took = ended.as_nanos() - began.as_nanos();
        self.last_entry = ended;
        self.shared.meters.committed(batch);
        self.shared.meters.shared_by(commands, Duration::from_nanos(took));
        self.position = batch.position;
        self.trimming.committed(batch)
    }

    /// Now that it is durable, readers may see it. Whoever is told by `tell` goes on while it is entered: what they read then
    /// waits for that, because the view is locked before.
    pub(super) fn show(&mut self, batch: Batch, tell: impl FnOnce(&Self)) -> Result<(), String> {
        let news = !batch.events.is_empty() || !batch.changes.is_empty();
        let (touched, moved) = {
            let mut view = self.shared.view.write().unwrap_or_else(PoisonError::into_inner);
            tell(self);
            let before = view.position();
            view.pass(batch.time_mark);
            let touched = view.follow(batch).map_err(|divergence| divergence.to_string())?;
            (touched, view.position() != before)
        };
        // Who waits for a position waits also for one at which nothing happened.
        if news || moved {
            self.shared.subscribers.tell(self.position, &touched);
        }
        Ok(())
    }

    pub(super) fn answer(&self, waiting: Vec<Waiting>, outcome: &Result<(), String>) {
        for Waiting { reply, decided } in waiting {
            reply.tell(match outcome {
                Err(why) => Err(SubmitError::NotDurable(why.clone())),
                Ok(()) => decided.map(|reservation| self.answer_with(reservation)),
            });
        }
    }

    pub(super) fn answer_with(&self, reservation: Option<Arc<Reservation>>) -> Answer {
        Answer { position: self.position, reservation }
    }

    fn reservation_of(&self, subject: &Subject) -> Option<Arc<Reservation>> {
        match subject {
            Subject::Reservation(id) => self.fleet.shared_reservation(*id),
            Subject::Cluster(_) | Subject::Fleet => None,
        }
    }

    /// What was decided and did not become durable must be forgotten: memory is built again from the
    /// disk. If that cannot be read either, the store has stopped.
    pub(super) fn rebuild(&mut self, why: &str) -> Result<(), String> {
        let stopped = |also: String| format!("{why}; then: {also}");
        self.failures += 1;
        if self.failures == MAX_FAILURES {
            return Err(stopped(format!("it was the last of {MAX_FAILURES} failures in a row")));
        }
        let meta = self.reload().map_err(stopped)?;
        // redb accepts nothing more after an error of the disk: an empty commit tells.
        let next = meta.position.next().ok_or("the history is full")?;
        let empty = Batch::empty(next, self.timekeeper.mark());
        let position = self.journal.prove(&empty).map_err(|error| stopped(chain(&error)))?;
        self.position = position;
        self.show_anew(&Meta { position, ..meta }, self.fleet.clone());
        Ok(())
    }

    /// Builds memory again from the rows.
    pub(super) fn reload(&mut self) -> Result<Meta, String> {
        let contents = self.journal.load().map_err(|error| chain(&error))?;
        let meta = contents.meta;
        let now = self.timekeeper.mark();
        let fleet = contents.into_fleet(self.settings.policy.clone(), now);
        self.fleet = fleet.map_err(|divergence| divergence.to_string())?;
        let (events, reader) = (self.settings.events, self.journal.reader());
        let trimming = Trimming::load(events, reader, meta.trimmed_through);
        self.trimming = trimming.map_err(|error| chain(&error))?;
        self.position = meta.position;
        Ok(meta)
    }

    /// A commit that failed may have happened all the same: everyone looks again.
    pub(super) fn show_anew(&self, meta: &Meta, fleet: Fleet) {
        let view = View::new(fleet, meta, self.timekeeper.mark());
        *self.shared.view.write().unwrap_or_else(PoisonError::into_inner) = view;
        self.shared.subscribers.tell_everyone(meta.position);
    }
}

fn is_lack_of_room(decided: &Outcome) -> bool {
    matches!(decided, Err(SubmitError::Refused(Refusal::NoRoom(_))))
}

/// Work by its kind.
#[derive(Default)]
struct Parted {
    submissions: Vec<Submission>,
    /// Those who confirm the clock.
    confirmed: Vec<Reply>,
    reconfigured: Vec<(Box<Settings>, Reply)>,
}

fn part(work: Vec<Work>) -> Parted {
    let mut parted = Parted { submissions: Vec::with_capacity(work.len()), ..Parted::default() };
    for work in work {
        match work {
            Work::Decide(submission) => parted.submissions.push(*submission),
            Work::ConfirmClock(reply) => parted.confirmed.push(reply),
            Work::Reconfigure(settings, reply) => parted.reconfigured.push((settings, reply)),
            Work::Handed(handed) => parted.submissions.extend(handed.into_submissions()),
            Work::Follow => {}
        }
    }
    parted
}

/// Commands, and whom to tell of each.
pub(super) fn apart(submissions: Vec<Submission>) -> (Vec<Command>, Vec<Caller>) {
    submissions.into_iter().map(|Submission { command, caller }| (command, caller)).unzip()
}
