//! How a cluster stands, as the status of one of its objects says it.

use rear_api::advertisement::{Advertisement as Shown, ClusterStatus};
use rear_api::moment;
use rear_api::resources::names::{OVERCOMMITTED, READY, STALE};
use rear_api::resources::{ClusterAdvertisementStatus, Condition, Truth, set_condition};
use rear_engine::{ClusterId, Timestamp};

use super::super::speakers::Speaker;
use super::decide::{Answer, Sighting};

/// What the status should say, but for when it was written and from which ledger.
pub(super) fn status(
    cluster: &ClusterId,
    shown: Option<&Shown>,
    sighting: Option<&Sighting>,
    now: Timestamp,
) -> ClusterAdvertisementStatus {
    let known = sighting.and_then(|seen| seen.object.status.as_ref());
    let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
    let refused = sighting.and_then(refused);
    let speaks = sighting.is_none_or(|seen| seen.speaker.speaks_for(cluster));
    let shown = shown.filter(|_| speaks);
    let stands = shown.and_then(|shown| shown.status.as_ref());
    let message = message(refused.as_ref(), stands);
    set_all(&mut conditions, refused.as_ref(), stands, &message, now);
    let base = match shown {
        Some(shown) => ClusterAdvertisementStatus::of(shown, conditions),
        None => ClusterAdvertisementStatus {
            active: Some(false),
            phase: Some("Inactive".to_owned()),
            conditions,
            ..ClusterAdvertisementStatus::default()
        },
    };
    ClusterAdvertisementStatus {
        message: Some(message),
        code: refused.map(|answer| answer.code),
        observed_generation: sighting.and_then(|seen| seen.object.metadata.generation),
        ..base
    }
}

/// Why what an object says does not count.
fn refused(sighting: &Sighting) -> Option<Answer> {
    match &sighting.speaker {
        Speaker::Nobody(why) => Some(Answer { code: "not-bound".to_owned(), message: why.clone() }),
        Speaker::Cluster(_) | Speaker::Everyone => sighting.answer.clone(),
    }
}

fn message(refused: Option<&Answer>, stands: Option<&ClusterStatus>) -> String {
    let text = match (refused, stands) {
        (Some(answer), _) => &answer.message,
        (None, Some(stands)) if stands.recovering => {
            "the ledger was restored: the cluster has not said yet what it holds"
        }
        (None, Some(stands)) if stands.overcommitted => "it has promised or used more than it has",
        (None, Some(stands)) if stands.active => "it can get reservations",
        (None, _) => "nothing was heard of it for too long",
    };
    text.to_owned()
}

fn set_all(
    conditions: &mut Vec<Condition>,
    refused: Option<&Answer>,
    stands: Option<&ClusterStatus>,
    message: &str,
    now: Timestamp,
) {
    let is_active = stands.is_some_and(|stands| stands.active);
    let is_overcommitted = stands.is_some_and(|stands| stands.overcommitted);
    let phase = if is_active { "Active" } else { "Inactive" };
    let reason = refused.map_or(phase, |answer| &answer.code);
    let fresh = if is_active { "Fresh" } else { "Stale" };
    let fits = if is_overcommitted { "Overcommitted" } else { "Fits" };
    let is_ready = is_active && !is_overcommitted && refused.is_none();
    for (kind, is_so, reason, message) in [
        (READY, is_ready, reason, message),
        (STALE, !is_active, fresh, ""),
        (OVERCOMMITTED, is_overcommitted, fits, ""),
    ] {
        let condition = Condition {
            kind: kind.to_owned(),
            status: if is_so { Truth::True } else { Truth::False },
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: moment::text(now),
            observed_generation: None,
        };
        set_condition(conditions, condition);
    }
}
