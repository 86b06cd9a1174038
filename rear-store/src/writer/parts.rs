//! What is too much for one entry, though it is one command: most of it goes before, in entries of its own.

use rear_engine::Command;

use super::Writer;
use super::contest::{MAX_LOSSES, Setback};

/// So many promises are in an entry at first: a fraction of what fits, if their keys and labels are short.
const AT_ONCE: usize = 1000;

impl Writer {
    /// Does as much as it can of what one command wants to be done at once.
    pub(super) fn go_before(&mut self, commands: &[Command]) -> Result<(), Setback> {
        let [command] = commands else { return Ok(()) };
        let mut limit = AT_ONCE;
        let mut losses = 0;
        while limit > 0 && losses < MAX_LOSSES {
            let Some(part) = part(command, limit) else { return Ok(()) };
            self.follow_others()?;
            let before = self.position;
            match self.attempt(&[part]) {
                // The command itself is refused for the same reason.
                Ok(decided) if decided.iter().any(Result::is_err) => return Ok(()),
                Ok(_) if self.position == before => return Ok(()),
                Ok(_) => {}
                Err(Setback::Overtaken) => {
                    self.shared.meters.lost();
                    losses += 1;
                }
                Err(Setback::TooLarge) => limit /= 2,
                Err(setback) => return Err(setback),
            }
        }
        Ok(())
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
