//! What the status of an object should say.

use rear_api::instruction;
use rear_api::moment;
use rear_api::problem::Code;
use rear_api::reservation::Reservation as Shown;
use rear_api::resources::names::{READY, RENEWED};
use rear_api::resources::{Condition, ReservationStatus, Truth, condition, set_condition};
use rear_engine::Reservation;

use super::seen::{Answer, Kind, Seen, Wish};

/// What the ledger says of a reservation, for one of its sides.
pub(super) fn of_record(
    seen: &Seen,
    record: &Reservation,
    side: Kind,
    known: Option<&ReservationStatus>,
    wanted_end: Option<&str>,
) -> ReservationStatus {
    let mut shown = Shown::from(record);
    if side == Kind::ProvidersView {
        shown.status.message = instruction::for_provider(record).status.message;
    }
    let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
    let phase = shown.status.phase.name().to_owned();
    let truth = if record.phase.is_live() { Truth::True } else { Truth::False };
    set(seen, &mut conditions, READY, truth, &phase, &shown.status.message);
    match wanted_end.map(|end| renewal(seen, record, known, end)) {
        Some(Some((truth, reason, message))) => {
            set(seen, &mut conditions, RENEWED, truth, &reason, &message);
        }
        Some(None) if wanted_end.is_some_and(|end| is_answered(seen, known, end)) => {}
        // Who takes the wish back may make it again; and what was answered in another life of the ledger is not answered in this one.
        Some(None) | None => conditions.retain(|condition| condition.kind != RENEWED),
    }
    ReservationStatus::of(&shown, &seen.id.to_string(), conditions)
}

/// Whether the end that the requester wants was answered, as this broker remembers it, or as the status says: whatever was agreed
/// on since, over HTTP, counts more.
pub(super) fn is_answered(seen: &Seen, known: Option<&ReservationStatus>, end: &str) -> bool {
    let known = known.filter(|known| seen.is_of_this_life(known));
    let said = known.and_then(|known| condition(&known.conditions, RENEWED));
    let is_about_it = |said: &Condition| {
        said.message.strip_prefix(end).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    };
    said.is_some_and(is_about_it) || seen.answers.to(&Wish::Renew(end.to_owned())).is_some()
}

/// What became of the end that the requester wants; nothing while that is not known yet, or is said already.
fn renewal(
    seen: &Seen,
    record: &Reservation,
    known: Option<&ReservationStatus>,
    end: &str,
) -> Option<(Truth, String, String)> {
    let no = |reason: &str, why: &str| (Truth::False, reason.to_owned(), format!("{end}: {why}"));
    let yes = || (Truth::True, "Accepted".to_owned(), end.to_owned());
    if let Some(answer) = seen.answers.to(&Wish::Renew(end.to_owned())) {
        return Some(match &answer.code {
            Some(code) => no(code, &answer.message),
            None => yes(),
        });
    }
    match moment::read(end) {
        Err(error) => Some(no(Code::Invalid.name(), &error.to_string())),
        Ok(until) if record.expires_at == Some(until) => Some(yes()),
        Ok(_) if is_answered(seen, known, end) => None,
        Ok(_) if !record.phase.is_live() => {
            Some(no(Code::AlreadyEnded.name(), "the reservation has ended"))
        }
        Ok(_) => None,
    }
}

/// What was refused or explained.
pub(super) fn failed(
    seen: &Seen,
    wish: &Wish,
    answer: &Answer,
    known: &[Condition],
) -> ReservationStatus {
    let phase = if *wish == Wish::Explain { "Explained" } else { "Failed" };
    let mut conditions = known.to_vec();
    set(seen, &mut conditions, READY, Truth::False, phase, &answer.message);
    ReservationStatus {
        phase: Some(phase.to_owned()),
        message: Some(answer.message.clone()),
        code: answer.code.clone(),
        explanation: answer.explanation.clone(),
        conditions,
        ..ReservationStatus::default()
    }
}

/// Not answered yet. Whom it was promised by before a restore stays there: that is how it is known for whom it waits.
pub(super) fn pending(
    seen: &Seen,
    why: &str,
    known: Option<&ReservationStatus>,
) -> ReservationStatus {
    let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
    set(seen, &mut conditions, READY, Truth::False, "Pending", why);
    ReservationStatus {
        phase: Some("Pending".to_owned()),
        message: Some(why.to_owned()),
        target_cluster_id: known.and_then(|known| known.target_cluster_id.clone()),
        reservation_id: known.and_then(|known| known.reservation_id.clone()),
        conditions,
        ..ReservationStatus::default()
    }
}

fn set(
    seen: &Seen,
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: Truth,
    reason: &str,
    message: &str,
) {
    let condition = Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: moment::text(seen.now),
        observed_generation: None,
    };
    set_condition(conditions, condition);
}

/// With the time and the ledger that it is from; nothing if the same is known already.
pub(super) fn ready_to_write(
    seen: &Seen,
    mut status: ReservationStatus,
    known: Option<&ReservationStatus>,
) -> Option<Box<ReservationStatus>> {
    let is_so =
        |known: &ReservationStatus| known.says_the_same_as(&status) && seen.is_of_this_life(known);
    if known.is_some_and(is_so) {
        return None;
    }
    status.last_update_time = Some(moment::text(seen.now));
    status.ledger = Some(seen.mark.to_string());
    Some(Box::new(status))
}
