//! What is too much for one entry, though it is one command: what is due beside it, and then most of it, go before, in entries of
//! their own.

use rear_engine::{ClusterId, Command, Refusal, decide};

use super::Writer;
use super::batch::Outcome;
use super::contest::{MAX_LOSSES, Setback};
use crate::store::SubmitError;

/// So many promises are in an entry at first: a fraction of what fits, if their keys and labels are short.
const AT_ONCE: usize = 1000;

/// More entries than any cluster's promises need, also with the longest labels. Where others promise as fast as is taken away here,
/// whoever wants it has to ask again after so many, so that all who wait have their turn.
const MAX_PARTS: usize = 10_000;

/// What went before a command that was too large.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct WentBefore {
    /// Entries of what the command itself does.
    parts: usize,
}

impl WentBefore {
    /// Where all that a command does went before, nothing may be known of its cluster any more: it is done all the same.
    pub(super) fn complete(self, commands: &[Command], decided: &mut [Outcome]) {
        let ([Command::Forget { cluster, .. }], [decided]) = (commands, decided) else { return };
        if self.parts > 0 && is_unknown(decided, cluster) {
            *decided = Ok(None);
        }
    }
}

fn is_unknown(decided: &Outcome, cluster: &ClusterId) -> bool {
    matches!(decided, Err(SubmitError::Refused(Refusal::UnknownCluster(of))) if of == cluster)
}

impl Writer {
    /// Makes what one command still has to do smaller, as far as that can be: whether anything was written.
    pub(super) fn make_smaller(
        &mut self,
        commands: &[Command],
        went: &mut WentBefore,
    ) -> Result<bool, Setback> {
        let [command] = commands else { return Ok(false) };
        let before = self.position;
        // What is due may have taken its place: that first.
        self.end_what_is_due()?;
        if self.position == before {
            self.go_before(command, went)?;
        }
        Ok(self.position != before)
    }

    /// Ends what is due, as much at once as fits, until nothing is or nothing more can be.
    fn end_what_is_due(&mut self) -> Result<(), Setback> {
        let mut losses = 0;
        while losses < MAX_LOSSES && self.is_something_due() {
            self.follow_others()?;
            let before = self.position;
            match self.attempt(&[]) {
                Ok(_) if self.position == before => return Ok(()),
                Ok(_) => {}
                Err(Setback::Overtaken) => losses += self.lost(),
                Err(Setback::TooLarge) if self.due > 1 => self.due /= 2,
                // One of them is larger than an entry.
                Err(Setback::TooLarge) => return Ok(()),
                Err(setback) => return Err(setback),
            }
        }
        Ok(())
    }

    /// Does as much as it can of what one command wants to be done at once.
    fn go_before(&mut self, command: &Command, went: &mut WentBefore) -> Result<(), Setback> {
        let (mut limit, mut losses) = (AT_ONCE, 0);
        while limit > 0 && losses < MAX_LOSSES && went.parts < MAX_PARTS {
            self.follow_others()?;
            let Some(part) = part(command, limit).filter(|part| self.is_left(part)) else { break };
            match self.attempt(&[part]) {
                Ok(_) => went.parts += 1,
                Err(Setback::Overtaken) => losses += self.lost(),
                Err(Setback::TooLarge) => limit /= 2,
                Err(setback) => return Err(setback),
            }
        }
        Ok(())
    }

    /// Whether there is anything to do for a part. One that is refused is so for the reason that the command itself is.
    fn is_left(&self, part: &Command) -> bool {
        let decision = decide(&self.fleet, part.clone(), self.timekeeper.mark());
        decision.is_ok_and(|decision| decision.is_durable())
    }

    fn lost(&self) -> u32 {
        self.shared.meters.lost();
        1
    }
}

/// At most so much of what a command does; nothing of one that can be done only at once.
fn part(command: &Command, limit: usize) -> Option<Command> {
    match command.clone() {
        Command::Forget { cluster, by } => Some(Command::Clear { cluster, limit, by }),
        Command::Advertise { cluster, advertisement, holding: Some(holding) } => {
            Some(Command::Adopt { cluster, advertisement, holding, limit })
        }
        _ => None,
    }
}
