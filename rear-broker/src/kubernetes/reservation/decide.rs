//! What is to be done about one reservation, from all that is known of it: pure.

use rear_api::moment;
use rear_api::resources::names::{
    PROVIDER_REJECTED, PROVIDERS_VIEW, REQUESTER_ACTIVE, REQUESTER_RELEASED, REQUESTERS_VIEW,
    TRANSIENT_LABEL,
};
use rear_api::resources::{ReservationSpec, condition, is_true};
use rear_engine::text::Line;
use rear_engine::{Actor, Ask, Command, Duration, Phase, Reservation};

use super::super::shelf::Place;
use super::super::speakers::Speaker;
use super::seen::{Kind, Seen, Sighting, Wish, key_of, was_made_as_resource};
use super::status::{failed, is_answered, of_record, pending, ready_to_write};
use rear_api::resources::ReservationStatus;

/// How long the answer to a program's wish stays there for it, once the ledger does not know it.
const TRANSIENT_FOR: Duration = Duration::from_seconds(60 * 60);

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Have the engine decide this, and look again.
    Submit(Wish, Box<Command>),
    /// Explain who would get it, and look again.
    Explain(Box<Ask>),
    /// Write what differs, in this order. Empty when all is as it should be.
    Write(Vec<Write>),
}

/// One thing that an object should say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Write {
    /// Its status.
    Status {
        place: Place,
        /// The version of the object that was looked at.
        of: Option<String>,
        status: Box<ReservationStatus>,
    },
    /// A view of the ledger, which is not there yet.
    Create {
        place: Place,
        view: &'static str,
        /// As a user has named the reservation.
        name: Option<String>,
        spec: Box<ReservationSpec>,
        status: Box<ReservationStatus>,
    },
    /// A view that should not be there.
    Delete { place: Place },
    /// Whether capacity is kept aside for it, and by whom.
    Hold { place: Place, held: bool, target: Option<String> },
}

/// What is to be done.
pub(crate) fn decide(seen: &Seen) -> Next {
    match &seen.record {
        None => without_record(seen),
        Some(record) => match wish(seen, record) {
            Some((wish, command)) => Next::Submit(wish, Box::new(command)),
            None => Next::Write(writes(seen, record)),
        },
    }
}

/// What one of the sides wants with a live reservation.
fn wish(seen: &Seen, record: &Reservation) -> Option<(Wish, Command)> {
    if !record.phase.is_live() {
        return None;
    }
    let requester = || Actor::Cluster(record.requester().clone());
    let wishes = [requesters_wish(seen, record, requester()), providers_wish(seen, record)];
    wishes.into_iter().flatten().find(|(wish, _)| seen.answers.to(wish).is_none())
}

fn requesters_wish(seen: &Seen, record: &Reservation, by: Actor) -> Option<(Wish, Command)> {
    let id = seen.id;
    let Some(sighting) = seen.requesters() else {
        return was_made_as_resource(record)
            .then_some((Wish::Release, Command::Release { id, by }));
    };
    if sighting.is_deleted() {
        return Some((Wish::Release, Command::Release { id, by }));
    }
    if !sighting.speaker.speaks_for(record.requester()) {
        return None;
    }
    let conditions = sighting.object.conditions();
    if is_true(conditions, REQUESTER_RELEASED) {
        return Some((Wish::Release, Command::Release { id, by }));
    }
    // While its provider may know another end, a wish for one waits: what is answered is answered for good.
    let wanted = sighting.object.spec.expires_at.as_deref().filter(|_| !seen.recovering);
    if let Some(text) = wanted
        && let Ok(until) = moment::read(text)
        && record.expires_at != Some(until)
        && !is_answered(seen, sighting.object.status.as_ref(), text)
    {
        return Some((Wish::Renew(text.to_owned()), Command::Renew { id, until, by }));
    }
    let is_new = matches!(record.phase, Phase::Reserved(_));
    (is_new && is_true(conditions, REQUESTER_ACTIVE))
        .then_some((Wish::Activate, Command::Activate { id, by }))
}

fn providers_wish(seen: &Seen, record: &Reservation) -> Option<(Wish, Command)> {
    let speaks = |sighting: &&Sighting| sighting.speaker.speaks_for(&record.provider);
    let sides = [seen.providers(), seen.requesters()].into_iter().flatten();
    let mut said = sides.filter(speaks).filter_map(|sighting| {
        condition(sighting.object.conditions(), PROVIDER_REJECTED)
            .filter(|said| said.status == rear_api::resources::Truth::True)
    });
    let said = said.next()?;
    let texts = [&said.message, &said.reason];
    let reason = texts.into_iter().find(|text| !text.trim().is_empty());
    let reason = reason.and_then(|text| text.parse::<Line>().ok());
    let reason = reason.or_else(|| "no reason was given".parse().ok())?;
    let by = Actor::Cluster(record.provider.clone());
    Some((Wish::Reject, Command::Reject { id: seen.id, reason, by }))
}

/// What the objects of a reservation in the ledger should say: the requester first, who waits for it; then the
/// provider; then that both have been told.
fn writes(seen: &Seen, record: &Reservation) -> Vec<Write> {
    let is_live = record.phase.is_live();
    let requesters = seen.requesters();
    let mut writes = Vec::new();
    match requesters {
        Some(sighting) if !sighting.is_deleted() => {
            writes.extend(status_write(seen, sighting, record, Kind::RequestersView));
        }
        Some(_) => {}
        None => {
            let home = seen.requesters_home.as_ref();
            let missing = is_live && !was_made_as_resource(record);
            writes.extend(
                home.filter(|_| missing)
                    .map(|home| create(seen, record, home, Kind::RequestersView)),
            );
        }
    }
    writes.extend(providers_write(seen, record));
    writes.extend(misplaced(seen));
    if let Some(sighting) = requesters {
        writes.extend(hold(sighting, record));
    }
    writes
}

fn providers_write(seen: &Seen, record: &Reservation) -> Option<Write> {
    let home = seen.providers_home.as_deref()?;
    if seen.requesters_namespace() == Some(home) {
        return None;
    }
    match seen.providers() {
        Some(sighting) if sighting.is_deleted() => None,
        Some(sighting) => status_write(seen, sighting, record, Kind::ProvidersView),
        None => record.phase.is_live().then(|| create(seen, record, home, Kind::ProvidersView)),
    }
}

fn status_write(
    seen: &Seen,
    sighting: &Sighting,
    record: &Reservation,
    side: Kind,
) -> Option<Write> {
    let object = &sighting.object;
    let end = object.spec.expires_at.as_deref().filter(|_| side == Kind::RequestersView);
    let status = of_record(seen, record, side, object.status.as_ref(), end);
    let status = ready_to_write(seen, status, sighting.object.status.as_ref())?;
    Some(tell(sighting, status))
}

fn tell(sighting: &Sighting, status: Box<ReservationStatus>) -> Write {
    let of = sighting.object.metadata.resource_version.clone();
    Write::Status { place: sighting.place.clone(), of, status }
}

fn create(seen: &Seen, record: &Reservation, namespace: &str, side: Kind) -> Write {
    let shown = rear_api::reservation::Reservation::from(record);
    let status = of_record(seen, record, side, None, None);
    Write::Create {
        place: Place { namespace: namespace.to_owned(), name: seen.id.to_string() },
        view: if side == Kind::ProvidersView { PROVIDERS_VIEW } else { REQUESTERS_VIEW },
        name: seen.users_name(),
        spec: Box::new(ReservationSpec::viewing(&shown)),
        status: ready_to_write(seen, status, None).unwrap_or_default(),
    }
}

/// Views where nobody is to be told: an operator has bound a namespace otherwise.
fn misplaced(seen: &Seen) -> impl Iterator<Item = Write> {
    let requesters = seen.requesters().map(|sighting| &sighting.place);
    let same_place = seen.requesters_namespace() == seen.providers_home.as_deref();
    let providers = seen.providers().map(|sighting| &sighting.place).filter(|_| !same_place);
    let is_right = move |place: &Place| Some(place) == requesters || Some(place) == providers;
    let views = seen.objects.iter().filter(|sighting| sighting.kind() != Kind::Original);
    views
        .filter(move |sighting| !is_right(&sighting.place) && !sighting.is_deleted())
        .map(|sighting| Write::Delete { place: sighting.place.clone() })
}

fn hold(sighting: &Sighting, record: &Reservation) -> Option<Write> {
    let held = record.phase.is_live();
    let object = &sighting.object;
    let provider = record.provider.to_string();
    let is_so = object.spec.target_cluster_id.as_ref() == Some(&provider);
    let target = (held && !is_so).then_some(provider);
    let differs = object.is_held() != held || target.is_some();
    differs.then(|| Write::Hold { place: sighting.place.clone(), held, target })
}

/// A wish that the ledger does not know: not yet, not any more, or refused. While its provider may still remember it, it stays
/// held also when it is deleted: else nobody would be left to give back what the ledger is about to learn of again.
fn without_record(seen: &Seen) -> Next {
    let original = seen.objects.iter().find(|seen| seen.kind() == Kind::Original);
    let Some(original) = original else { return Next::Write(misplaced_all(seen)) };
    let may_go = !seen.recovering && original.object.is_held();
    let release = || may_go.then(|| unheld(original));
    if original.is_deleted() {
        return Next::Write(misplaced_all(seen).into_iter().chain(release()).collect());
    }
    let known = original.object.status.as_ref();
    let says = |status: ReservationStatus| {
        let status = ready_to_write(seen, status, known);
        let write = status.map(|status| tell(original, status));
        Next::Write(misplaced_all(seen).into_iter().chain(write).chain(release()).collect())
    };
    let conditions = original.object.conditions();
    for wish in [Wish::Reserve, Wish::Explain] {
        if let Some(answer) = seen.answers.to(&wish) {
            return says(failed(seen, &wish, answer, conditions));
        }
    }
    if is_final(original) {
        let forgotten = is_forgotten(seen, original);
        let gone = forgotten.then(|| Write::Delete { place: original.place.clone() });
        return Next::Write(misplaced_all(seen).into_iter().chain(release()).chain(gone).collect());
    }
    let spec = &original.object.spec;
    let requester = match original.speaker.requester(spec.requester_id.as_deref()) {
        Ok(requester) => requester,
        Err(why) if matches!(original.speaker, Speaker::Nobody(_)) => {
            return says(pending(seen, &why, known));
        }
        Err(why) => return says(failed(seen, &Wish::Reserve, &super::invalid(why), conditions)),
    };
    let ask = match spec.request().ask(&requester) {
        Ok(ask) => Box::new(ask),
        Err(error) => {
            let answer = super::invalid(error.to_string());
            return says(failed(seen, &Wish::Reserve, &answer, conditions));
        }
    };
    if spec.dry_run == Some(true) {
        return Next::Explain(ask);
    }
    if seen.recovering {
        let why = "the ledger was restored: its provider has not said yet what it holds";
        return says(pending(seen, why, known));
    }
    let key = key_of(seen.id).parse().ok();
    let by = Actor::Cluster(requester);
    Next::Submit(Wish::Reserve, Box::new(Command::Reserve { id: seen.id, ask, key, by }))
}

fn unheld(sighting: &Sighting) -> Write {
    Write::Hold { place: sighting.place.clone(), held: false, target: None }
}

/// Views of what the ledger does not know any more. After a restore it may only have forgotten it: until the provider has said what it
/// holds, taking its view away would be telling it that the promise has ended.
fn misplaced_all(seen: &Seen) -> Vec<Write> {
    if seen.recovering {
        return Vec::new();
    }
    let views = seen.objects.iter().filter(|sighting| sighting.kind() != Kind::Original);
    let mut writes = Vec::new();
    for sighting in views {
        writes.extend(sighting.object.is_held().then(|| unheld(sighting)));
        if !sighting.is_deleted() {
            writes.push(Write::Delete { place: sighting.place.clone() });
        }
    }
    writes
}

/// What was answered for good. A wish cannot change, so that its answer does not either.
fn is_final(original: &Sighting) -> bool {
    let status = original.object.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Released" | "Explained"))
}

/// Whether a program made it and has had its time to read the answer.
fn is_forgotten(seen: &Seen, original: &Sighting) -> bool {
    let labels = original.object.metadata.labels.as_ref();
    let status = original.object.status.as_ref();
    let since = status.and_then(|status| moment::read(status.last_update_time.as_deref()?).ok());
    labels.is_some_and(|labels| labels.contains_key(TRANSIENT_LABEL))
        && since.is_none_or(|since| seen.now.since(since) >= TRANSIENT_FOR)
}
