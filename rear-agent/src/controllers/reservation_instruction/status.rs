//! The status of a `ReservationInstruction`, from what is known about its peering: pure.

use rear_agent_sdk::communicator::Timestamp;

use super::is_over;
use crate::clock::stamp;
use crate::resources::{
    Condition, ReservationInstruction, ReservationInstructionStatus, Truth, set_condition,
};

pub(super) const PEERED: &str = "Peered";
pub(super) const ACTIVE: &str = "Active";
const EXPIRED: &str = "Expired";

/// Something that is now known.
pub(super) struct Finding {
    pub(super) kind: &'static str,
    pub(super) status: Truth,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(
        kind: &'static str,
        status: Truth,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status, reason, message: message.into() }
    }
}

/// Whether a condition of this name is so.
pub(super) fn is_so(instruction: &ReservationInstruction, kind: &str) -> bool {
    let conditions = instruction.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|known| known.kind == kind && known.status == Truth::True)
}

/// The status that it should have, if it has another.
pub(super) fn decide(
    instruction: &ReservationInstruction,
    findings: &[Finding],
    now: Timestamp,
) -> Option<ReservationInstructionStatus> {
    let generation = instruction.metadata.generation;
    let known = instruction.status.clone().unwrap_or_default();
    let mut new = known.clone();
    new.delivered = Some(true);
    new.observed_generation = generation;
    let ended = is_over(instruction, now);
    let over = Finding::new(EXPIRED, Truth::True, "Expired", "Its time is over.");
    let renewed = Finding::new(EXPIRED, Truth::False, "Renewed", "It ends later now.");
    let was_over = is_so(instruction, EXPIRED);
    let time = if ended { Some(&over) } else { was_over.then_some(&renewed) };
    for finding in findings.iter().chain(time) {
        set_condition(
            &mut new.conditions,
            Condition {
                kind: finding.kind.to_owned(),
                status: finding.status,
                reason: finding.reason.to_owned(),
                message: finding.message.clone(),
                last_transition_time: stamp(now),
                observed_generation: generation,
            },
        );
    }
    (new != known).then(|| {
        new.last_update_time = Some(stamp(now));
        new
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::translate::reservation_instruction;

    #[test]
    fn it_is_delivered_at_once_and_expires_at_its_end() {
        let promise = r#"{"id":"rsv-1","requesterID":"rome","targetClusterID":"paris",
            "requestedResources":{"cpu":"1","memory":"1Gi"},
            "status":{"phase":"Reserved","expiresAt":"1970-01-01T00:01:00Z"}}"#;
        let mut used = reservation_instruction(&serde_json::from_str(promise).unwrap());
        let status = decide(&used, &[], Timestamp::from_seconds(1)).unwrap();
        assert_eq!((status.delivered, status.conditions.len()), (Some(true), 0));
        used.status = Some(status);
        assert_eq!(decide(&used, &[], Timestamp::from_seconds(59)), None);
        let status = decide(&used, &[], Timestamp::from_seconds(60)).unwrap();
        assert_eq!(status.conditions[0].kind, EXPIRED);
        used.status = Some(status);
        assert_eq!(decide(&used, &[], Timestamp::from_seconds(61)), None);
        used.spec.expires_at = Some("1970-01-01T00:02:00Z".to_owned());
        let status = decide(&used, &[], Timestamp::from_seconds(61)).unwrap();
        assert_eq!((status.conditions[0].status, status.conditions.len()), (Truth::False, 1));
        used.status = Some(status);
        assert_eq!(decide(&used, &[], Timestamp::from_seconds(62)), None);
    }
}
