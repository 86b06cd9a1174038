//! In which order commands that wait together are decided, and how much each weighs.

use std::cmp::Reverse;

use rear_engine::Command;

use super::Submission;
use crate::settings::PriorityCaps;

/// What frees capacity goes before what takes it; in between, what is due ends and clusters speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    Endings,
    Clusters,
    Grants,
}

pub(super) fn turn(command: &Command) -> Turn {
    match command {
        Command::Release { .. }
        | Command::Reject { .. }
        | Command::Renew { .. }
        | Command::Activate { .. }
        | Command::Expire { .. }
        | Command::Retire { .. } => Turn::Endings,
        Command::Advertise { .. }
        | Command::Hear { .. }
        | Command::MarkStale { .. }
        | Command::Forget { .. }
        | Command::EndRecovery { .. } => Turn::Clusters,
        Command::Reserve { .. } => Turn::Grants,
    }
}

/// Sorts by turn, grants by the priority that counts; the order of arrival decides among equals.
pub(super) fn sort(submissions: &mut [Submission], priorities: &PriorityCaps) {
    let priority = |command: &Command| match command {
        Command::Reserve { ask, .. } => priorities.counted(ask.requester(), ask.terms().priority),
        _ => 0,
    };
    submissions.sort_by_cached_key(|waiting| {
        (turn(&waiting.command), Reverse(priority(&waiting.command)))
    });
}

/// About how many bytes one record adds to a batch.
pub(super) const RECORD: usize = 512;

/// About how many bytes a command adds to a batch.
pub(super) fn weight(command: &Command) -> usize {
    match command {
        Command::Advertise { advertisement, holding, .. } => {
            let held = holding.as_ref().map_or(0, Vec::len);
            RECORD * (2 + held) + 100 * advertisement.consumed.iter().count()
        }
        Command::Reserve { .. } => 2 * RECORD,
        Command::Hear { .. }
        | Command::Activate { .. }
        | Command::Renew { .. }
        | Command::Reject { .. }
        | Command::Release { .. }
        | Command::Expire { .. }
        | Command::MarkStale { .. }
        | Command::Retire { .. }
        | Command::Forget { .. }
        | Command::EndRecovery { .. } => RECORD,
    }
}
