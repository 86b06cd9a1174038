//! One batch where others write as well: whoever loses a place applies what won it, and decides again.
//!
//! Nobody is answered from a state that was not the latest at some moment since they asked: a batch that won its place
//! proves that by winning it; one that has nothing to write asks.

use rear_engine::fleet::Undo;
use rear_engine::{Command, Fleet};

use super::batch::{Draft, Outcome, Waiting, apart};
use super::handover::Asked;
use super::order::sort;
use super::parts::WentBefore;
use super::{Caller, Reply, Submission, Writer};
use crate::chain::chain;
use crate::journal::{Batch, Followed, JournalError};
use crate::settings::Settings;
use crate::shared::TICK;
use crate::store::SubmitError;
use crate::timekeeper::Reading;

/// Who has lost so often in a row gives up: nothing has changed, and the caller may come again.
pub(super) const MAX_LOSSES: u32 = 200;

/// Why a batch was not decided to the end.
pub(super) enum Setback {
    /// Another broker was faster.
    Overtaken,
    /// Too much for one entry.
    TooLarge,
    /// Nothing was written.
    CutOff(String),
    /// It may have been written.
    InDoubt(String),
    /// The broker's own file does not do what it should.
    Failed(String),
    /// What others wrote cannot be followed: nothing more can be done.
    Ended(String),
}

impl From<JournalError> for Setback {
    fn from(error: JournalError) -> Self {
        let why = chain(&error);
        match error {
            JournalError::Overtaken => Self::Overtaken,
            JournalError::TooLarge { .. } => Self::TooLarge,
            JournalError::OutOfReach(_) | JournalError::Fork(_) => Self::CutOff(why),
            JournalError::InDoubt(_) => Self::InDoubt(why),
            JournalError::Entry(_) => Self::Ended(why),
            JournalError::OutOfOrder { .. }
            | JournalError::Missing(_)
            | JournalError::Record(_)
            | JournalError::Field { .. }
            | JournalError::Disk(_)
            | JournalError::Storage(_) => Self::Failed(why),
        }
    }
}

impl Writer {
    /// Decides, contends for the next place, and answers.
    pub(super) fn contend(
        &mut self,
        mut submissions: Vec<Submission>,
        confirmed: Vec<Reply>,
        reconfigured: Vec<(Box<Settings>, Reply)>,
    ) -> Result<(), String> {
        for (settings, reply) in reconfigured {
            let now = self.look_at_the_clock(false).now;
            self.reconfigure(*settings, now);
            reply.tell(Ok(self.answer_with(None)));
        }
        if !confirmed.is_empty() {
            self.look_at_the_clock(true);
        }
        for reply in confirmed {
            reply.tell(Ok(self.answer_with(None)));
        }
        sort(&mut submissions, &self.settings.priorities);
        let (commands, callers) = apart(submissions);
        self.decide_until_settled(Asked { commands, callers })
    }

    fn decide_until_settled(&mut self, mut asked: Asked) -> Result<(), String> {
        let nothing_asked = asked.commands.is_empty();
        let mut went = WentBefore::default();
        for _ in 0..MAX_LOSSES {
            if let Err(setback) = self.follow_others() {
                return self.give_up(setback, asked.callers);
            }
            if let Err(setback) = self.let_others_decide(&mut asked) {
                return self.give_up(setback, asked.callers);
            }
            if asked.commands.is_empty() && !nothing_asked {
                return Ok(());
            }
            let Asked { commands, callers } = &mut asked;
            let tell = |writer: &Self, mut decided: Vec<Outcome>| {
                went.complete(commands, &mut decided);
                let waiting = std::mem::take(callers).into_iter().zip(decided);
                // Other brokers have the longer way.
                let (theirs, own): (Vec<_>, Vec<_>) =
                    waiting.partition(|(caller, _)| caller.origin.is_some());
                let waiting = theirs.into_iter().chain(own);
                let waiting =
                    waiting.map(|(caller, decided)| Waiting { reply: caller.reply, decided });
                writer.answer(waiting.collect(), &Ok(()));
            };
            match self.attempt_and_tell(commands, tell) {
                Ok(()) => return Ok(()),
                Err(Setback::Overtaken) => self.shared.meters.lost(),
                Err(Setback::TooLarge) if self.due > 1 && self.is_something_due() => self.due /= 2,
                Err(Setback::TooLarge) => match self.make_smaller(&asked.commands, &mut went) {
                    Ok(true) => {}
                    Ok(false) => return self.halve(asked),
                    Err(setback) => return self.give_up(setback, asked.callers),
                },
                Err(setback) => return self.give_up(setback, asked.callers),
            }
        }
        tell_all(asked.callers, &SubmitError::Overloaded);
        Ok(())
    }

    /// One try against what was followed: what was decided is durable, or forgotten.
    pub(super) fn attempt(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, Setback> {
        let mut found = Vec::new();
        self.attempt_and_tell(commands, |_, decided| found = decided)?;
        Ok(found)
    }

    /// The same, and tells the callers of what was decided before anyone can read it.
    fn attempt_and_tell(
        &mut self,
        commands: &[Command],
        tell: impl FnOnce(&Self, Vec<Outcome>),
    ) -> Result<(), Setback> {
        self.last_decided = self.clock.read().monotonic;
        if !self.journal.has_company() {
            self.timekeeper.left_alone();
        }
        let reading = self.look_at_the_clock(false);
        if self.timekeeper.is_settled() {
            self.journal.settled();
        }
        let mut draft = Draft::new(self.position, reading.now);
        draft.durable = self.unheard || self.is_time_to_tick(reading);
        self.decide_all(commands.to_vec(), reading, &mut draft);
        let Draft { mut batch, durable, decided, failure, undo, acknowledged } = draft;
        let settled = match failure {
            Some(why) => Err(Setback::Failed(why)),
            None if durable => self.commit(&mut batch, commands.len()).map_err(Into::into),
            None if decided.iter().any(rests_on_the_state) => {
                self.journal.confirm().map_err(Into::into)
            }
            None => Ok(()),
        };
        match settled {
            Ok(()) => {
                self.away = false;
                // Where nothing had to become durable, nothing was shown to work.
                if durable {
                    self.failures = 0;
                    self.unheard = false;
                    self.due = self.sharing.map_or(0, |sharing| sharing.due.min(self.due * 2));
                }
                self.show(batch, |writer| tell(writer, decided)).map_err(Setback::Failed)
            }
            Err(setback) => {
                self.step_back(undo);
                self.shared.refreshments.give_back(acknowledged);
                Err(setback)
            }
        }
    }

    /// Applies what others have written.
    pub(super) fn follow_others(&mut self) -> Result<(), Setback> {
        self.follow_and_tell(&mut |_| ())
    }

    /// The same, and tells of each batch before anyone can read it.
    pub(super) fn follow_and_tell(&mut self, tell: &mut impl FnMut(&Self)) -> Result<(), Setback> {
        loop {
            match self.journal.follow()? {
                Followed::Nothing => return Ok(()),
                Followed::Batch(batch) => self.take_over(*batch, tell)?,
                Followed::Anew => {
                    let meta = self.reload().map_err(Setback::Failed)?;
                    self.timekeeper.follow(meta.time_mark, self.clock.read());
                    self.show_anew(&meta, self.fleet.clone());
                }
            }
        }
    }

    fn take_over(&mut self, batch: Batch, tell: &mut impl FnMut(&Self)) -> Result<(), Setback> {
        let clocks = self.clock.read();
        self.timekeeper.follow(batch.time_mark, clocks);
        self.last_entry = clocks.monotonic;
        self.position = batch.position;
        let mut changes = batch.changes.iter().cloned();
        let applied = changes.try_for_each(|change| self.fleet.apply(change));
        applied.map_err(|divergence| Setback::Failed(divergence.to_string()))?;
        self.trimming.committed(&batch)?;
        self.shared.meters.followed();
        self.show(batch, |writer| tell(writer)).map_err(Setback::Failed)
    }

    /// What was decided and did not become durable is forgotten: readers never saw it.
    fn step_back(&mut self, undo: Vec<Undo>) {
        if !self.fleet.take_back(undo) {
            self.fleet = self.shown();
        }
    }

    fn shown(&self) -> Fleet {
        let view = self.shared.view.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        view.fleet().clone()
    }

    /// Time goes on for readers also while nothing can be decided: who looks sees that the writer lives.
    fn pass_time(&mut self) {
        let now = self.look_at_the_clock(false).now;
        let view = &self.shared.view;
        view.write().unwrap_or_else(std::sync::PoisonError::into_inner).pass(now);
    }

    /// Now and then someone tells the time, so that those who come know it. Not all at the same moment.
    fn is_time_to_tick(&self, reading: Reading) -> bool {
        let Some(sharing) = self.sharing.filter(|_| reading.alarm.is_none()) else { return false };
        let jitter = i64::try_from(sharing.broker % 1000).unwrap_or(0) * (TICK.as_nanos() / 2000);
        let silent =
            self.clock.read().monotonic.as_nanos().saturating_sub(self.last_entry.as_nanos());
        silent > TICK.as_nanos() + jitter
    }

    pub(super) fn is_something_due(&mut self) -> bool {
        let now = self.timekeeper.read(self.clock.read()).now;
        self.more_is_due(now)
    }

    /// What is due is larger than an entry, or half of what was asked fits: what is asked alone was made smaller already.
    fn halve(&mut self, mut asked: Asked) -> Result<(), String> {
        match asked.commands.len() {
            0 => {
                // Nobody can do more than wait for whoever ends it.
                self.away = true;
                Ok(())
            }
            1 => {
                let why = "what was decided is too large for one entry of the journal".to_owned();
                tell_all(asked.callers, &SubmitError::CutOff(why));
                Ok(())
            }
            many => {
                let later = asked.split_off(many / 2);
                self.decide_until_settled(asked)?;
                self.decide_until_settled(later)
            }
        }
    }

    fn give_up(&mut self, setback: Setback, callers: Vec<Caller>) -> Result<(), String> {
        self.pass_time();
        match setback {
            Setback::CutOff(why) => {
                self.away = true;
                tell_all(callers, &SubmitError::CutOff(why));
                Ok(())
            }
            Setback::InDoubt(why) => {
                self.away = true;
                self.shared.meters.doubted();
                tell_all(callers, &SubmitError::NotDurable(why));
                Ok(())
            }
            Setback::Failed(why) => {
                tell_all(callers, &SubmitError::NotDurable(why.clone()));
                self.rebuild(&why)
            }
            Setback::Ended(why) => {
                tell_all(callers, &SubmitError::Stopped(why.clone()));
                Err(why)
            }
            // These two are another try, or two smaller ones.
            Setback::Overtaken | Setback::TooLarge => {
                tell_all(callers, &SubmitError::Overloaded);
                Ok(())
            }
        }
    }
}

/// Signs of life and advertisements that say the same again are true whatever others did.
fn rests_on_the_state(decided: &Outcome) -> bool {
    match decided {
        Ok(Some(_)) | Err(SubmitError::Refused(_)) => true,
        Ok(None) | Err(_) => false,
    }
}

pub(super) fn tell_all(callers: Vec<Caller>, outcome: &SubmitError) {
    for Caller { reply, was_handed_over, .. } in callers {
        let outcome = match outcome {
            // Nothing was changed here: that is not all that can have happened.
            SubmitError::CutOff(why) if was_handed_over => SubmitError::NotDurable(why.clone()),
            SubmitError::Overloaded if was_handed_over => {
                SubmitError::NotDurable("it was handed to another broker".to_owned())
            }
            outcome => outcome.clone(),
        };
        reply.tell(Err(outcome));
    }
}
