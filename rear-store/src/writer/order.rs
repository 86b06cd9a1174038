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
        | Command::Adopt { .. }
        | Command::Hear { .. }
        | Command::MarkStale { .. }
        | Command::Forget { .. }
        | Command::Clear { .. }
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
        Command::Adopt { limit, .. } => RECORD * (2 + limit),
        Command::Hear { .. }
        | Command::Activate { .. }
        | Command::Renew { .. }
        | Command::Reject { .. }
        | Command::Release { .. }
        | Command::Expire { .. }
        | Command::MarkStale { .. }
        | Command::Retire { .. }
        | Command::Forget { .. }
        | Command::Clear { .. }
        | Command::EndRecovery { .. } => RECORD,
    }
}

#[cfg(test)]
mod tests {
    use rear_engine::advertisement::Holding;
    use rear_engine::testing::{advertisement, ask, cluster, id, resources};
    use rear_engine::{Actor, Timestamp};

    use super::*;

    fn advertise(held: usize) -> usize {
        let ask = ask("r", resources("1", "1Gi"));
        let promise = Holding { reservation: id(1), ask, expires_at: None };
        weight(&Command::Advertise {
            cluster: cluster("p"),
            advertisement: Box::new(advertisement("8", "8Gi", Timestamp::from_seconds(1))),
            holding: Some(vec![promise; held]),
        })
    }

    #[test]
    fn what_adds_more_records_weighs_more() {
        let by = Actor::Cluster(cluster("r"));
        let wish = Box::new(ask("r", resources("1", "1Gi")));
        let reserve = Command::Reserve { id: id(1), ask: wish, key: None, by: by.clone() };
        assert_eq!(weight(&reserve), 2 * RECORD, "the reservation, and the ledger");
        assert_eq!(weight(&Command::Release { id: id(1), by }), RECORD);
        assert_eq!([advertise(0), advertise(3)], [2 * RECORD, 5 * RECORD]);
    }
}
