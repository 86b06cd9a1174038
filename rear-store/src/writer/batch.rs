//! One batch: decide each command, commit all, answer everyone.

use rear_engine::{Command, Decision, Subject, decide};

use super::order::{Turn, sort, turn};
use super::{Answer, MAX_DUE, Reply, Submission, SubmitError, Writer};
use crate::journal::Batch;
use crate::timekeeper::Reading;

/// What time alone brings about.
const DUE: [Command; 3] = [
    Command::Expire { limit: MAX_DUE },
    Command::MarkStale { limit: MAX_DUE },
    Command::Retire { limit: MAX_DUE },
];

/// Someone who is answered once the batch is durable.
struct Waiting {
    reply: Reply,
    subject: Subject,
}

/// A batch that is being decided.
struct Draft {
    batch: Batch,
    durable: bool,
    waiting: Vec<Waiting>,
    /// Why nothing more can be decided.
    failure: Option<String>,
}

impl Writer {
    /// Decides, commits and answers. An error is the end: it was told to everyone in the batch.
    pub(super) fn process(&mut self, mut submissions: Vec<Submission>) -> Result<(), String> {
        sort(&mut submissions);
        let reading = self.timekeeper.read(self.clock.read());
        let mut draft = Draft {
            batch: Batch {
                position: self.position,
                time_mark: reading.now,
                changes: Vec::new(),
                events: Vec::new(),
            },
            durable: false,
            waiting: Vec::new(),
            failure: None,
        };
        let mut rest = submissions.into_iter().peekable();
        while let Some(ending) = rest.next_if(|next| turn(&next.command) == Turn::Endings) {
            self.decide_one(ending, reading, &mut draft);
        }
        self.end_what_is_due(reading, &mut draft);
        for submission in rest {
            self.decide_one(submission, reading, &mut draft);
        }
        let outcome = self.commit(&mut draft);
        self.answer(draft.waiting, &outcome);
        outcome.or_else(|why| self.rebuild(&why))
    }

    fn decide_one(&mut self, submission: Submission, reading: Reading, draft: &mut Draft) {
        let Submission { command, reply } = submission;
        if draft.failure.is_some() {
            draft.waiting.push(Waiting { reply, subject: Subject::Fleet });
            return;
        }
        if let Some(alarm) = reading.alarm
            && turn(&command) == Turn::Grants
        {
            return reply(Err(SubmitError::ClockJumped(alarm)));
        }
        match decide(&self.fleet, command, reading.now) {
            Err(refusal) => reply(Err(refusal.into())),
            Ok(decision) => {
                draft.waiting.push(Waiting { reply, subject: decision.subject.clone() });
                self.accept(decision, draft);
            }
        }
    }

    /// By the broker's time; not while the clock is in doubt.
    fn end_what_is_due(&mut self, reading: Reading, draft: &mut Draft) {
        if reading.alarm.is_some() {
            return;
        }
        for command in DUE {
            match decide(&self.fleet, command, reading.now) {
                Ok(due) => self.accept(due, draft),
                Err(refusal) => draft.failure = Some(refusal.to_string()),
            }
        }
    }

    /// True in memory at once, so that the next decision sees it.
    fn accept(&mut self, decision: Decision, draft: &mut Draft) {
        draft.durable |= decision.is_durable();
        draft.batch.changes.extend(decision.changes.iter().cloned());
        draft.batch.events.extend(decision.events.iter().cloned());
        if let Err(divergence) = self.fleet.apply_all(decision) {
            draft.failure = Some(divergence.to_string());
        }
    }

    fn commit(&mut self, draft: &mut Draft) -> Result<(), String> {
        if let Some(why) = draft.failure.take() {
            return Err(why);
        }
        if !draft.durable {
            return Ok(());
        }
        let next = self.position.next().ok_or("the history is full")?;
        draft.batch.position = next;
        self.journal.commit(&draft.batch).map_err(|error| chain(&error))?;
        self.position = next;
        Ok(())
    }

    fn answer(&self, waiting: Vec<Waiting>, outcome: &Result<(), String>) {
        for Waiting { reply, subject } in waiting {
            let answer = match outcome {
                Err(why) => Err(SubmitError::NotDurable(why.clone())),
                Ok(()) => Ok(Answer {
                    position: self.position,
                    reservation: match subject {
                        Subject::Reservation(id) => self.fleet.reservation(id).cloned(),
                        Subject::Cluster(_) | Subject::Fleet => None,
                    },
                }),
            };
            reply(answer);
        }
    }

    /// What was decided and did not become durable must be forgotten: memory is built again from the
    /// disk. If that cannot be read either, the store has stopped.
    fn rebuild(&mut self, why: &str) -> Result<(), String> {
        let stopped = |also: String| format!("{why}; then: {also}");
        let contents = self.journal.load().map_err(|error| stopped(chain(&error)))?;
        self.position = contents.meta.position;
        let now = self.timekeeper.mark();
        let fleet = contents.into_fleet(self.policy.clone(), now);
        self.fleet = fleet.map_err(|divergence| stopped(divergence.to_string()))?;
        // redb accepts nothing more after an error of the disk: an empty commit tells.
        let next = self.position.next().ok_or("the history is full")?;
        let empty =
            Batch { position: next, time_mark: now, changes: Vec::new(), events: Vec::new() };
        self.journal.commit(&empty).map_err(|error| stopped(chain(&error)))?;
        self.position = next;
        Ok(())
    }
}

/// An error with everything that led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
