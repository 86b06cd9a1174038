//! What is decided about a reservation, without an API server.

use std::sync::Arc;

use rear_api::moment;
use rear_api::resources::names::{
    FINALIZER, PROVIDER_REJECTED, PROVIDERS_VIEW, RENEWED, REQUESTER_ACTIVE, REQUESTER_RELEASED,
    REQUESTERS_VIEW, TRANSIENT_LABEL, VIEW_LABEL,
};
use rear_api::resources::{
    Condition, Mark, Reservation as Object, ReservationStatus, Truth, is_true,
};
use rear_engine::fleet::ClusterRecord;
use rear_engine::reservation::{Ending, Pending, Release};
use rear_engine::testing::{ask, cluster, resources};
use rear_engine::{
    Change, Command, Fleet, Policy, Position, Reservation, ReservationId, Timestamp,
};
use serde_json::json;

use super::super::shelf::Place;
use super::super::speakers::Speaker;
use super::decide::{Next, Write, decide};
use super::seen::{Answer, Answers, Seen, Sighting, Wish, id_of, id_of_wish, is_awaited, key_of};

const UID: &str = "01930000-0000-4000-8000-00000000002a";
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn id() -> ReservationId {
    ReservationId::from_bits(uuid::Uuid::parse_str(UID).unwrap().as_u128())
}

/// Rome's wish, in Rome's namespace.
fn wish() -> Sighting {
    let object = json!({
        "apiVersion": "broker.fluidos.eu/v1alpha1", "kind": "Reservation",
        "metadata": { "name": "my-workload", "namespace": "rome", "uid": UID },
        "spec": { "requestedResources": { "cpu": "2", "memory": "4Gi" } },
    });
    sighting(serde_json::from_value(object).unwrap(), "rome")
}

fn sighting(object: Object, namespace: &str) -> Sighting {
    let place = Place::of(&object);
    let speaker = Speaker::Cluster(cluster(namespace));
    Sighting { place, object: Arc::new(object), speaker }
}

/// What the ledger has once it was granted.
fn granted() -> Reservation {
    let key = key_of(id()).parse().ok();
    let pending = Pending { id: id(), ask: ask("rome", resources("2", "4Gi")), key };
    pending.grant(cluster("paris"), NOW, None)
}

fn seen(record: Option<Reservation>, objects: Vec<Sighting>) -> Seen {
    let home = |name: &str| record.as_ref().map(|_| name.to_owned());
    Seen {
        id: id(),
        requesters_home: home("rome"),
        providers_home: home("paris"),
        record,
        objects,
        answers: Answers::default(),
        recovering: false,
        mark: Mark { ledger: 1, position: Position { incarnation: 1, number: 7 } },
        now: NOW,
    }
}

fn change(sighting: &mut Sighting, change: impl FnOnce(&mut Object)) {
    let mut object = Object::clone(&sighting.object);
    change(&mut object);
    sighting.object = Arc::new(object);
}

fn says(sighting: &mut Sighting, kind: &str, message: &str) {
    let condition = Condition {
        kind: kind.to_owned(),
        status: Truth::True,
        reason: String::new(),
        message: message.to_owned(),
        last_transition_time: String::new(),
        observed_generation: None,
    };
    change(sighting, |object| {
        object.status.get_or_insert_default().conditions.push(condition);
    });
}

fn submitted(seen: &Seen) -> Option<Command> {
    match decide(seen) {
        Next::Submit(_, command) => Some(*command),
        Next::Explain(_) | Next::Write(_) => None,
    }
}

fn written(seen: &Seen) -> Vec<Write> {
    match decide(seen) {
        Next::Write(writes) => writes,
        other => panic!("{other:?}"),
    }
}

/// Brings the objects to what is to be written.
fn write_all(seen: &mut Seen) {
    for write in written(seen) {
        let known = |place: &Place| seen.objects.iter().position(|seen| seen.place == *place);
        match write {
            Write::Status { place, status, .. } => {
                let index = known(&place).unwrap();
                change(&mut seen.objects[index], |object| object.status = Some(*status));
            }
            Write::Hold { place, held, target } => {
                let index = known(&place).unwrap();
                change(&mut seen.objects[index], |object| {
                    let finalizer = FINALIZER.to_owned();
                    object.metadata.finalizers =
                        Some(held.then_some(finalizer).into_iter().collect());
                    if target.is_some() {
                        object.spec.target_cluster_id = target;
                    }
                });
            }
            Write::Create { place, view, spec, status, .. } => {
                let mut object = Object::new(&place.name, *spec);
                object.metadata.namespace = Some(place.namespace.clone());
                object.metadata.labels = Some([(VIEW_LABEL.to_owned(), view.to_owned())].into());
                object.status = Some(*status);
                seen.objects.push(sighting(object, &place.namespace));
            }
            Write::Delete { place } => seen.objects.retain(|seen| seen.place != place),
        }
    }
}

#[test]
fn a_new_wish_is_asked_under_the_id_of_its_object() {
    let Some(Command::Reserve { id: asked, ask, key, .. }) = submitted(&seen(None, vec![wish()]))
    else {
        panic!("it is not asked")
    };
    assert_eq!((asked, ask.requester()), (id(), &cluster("rome")));
    assert_eq!(key, granted().key);
}

#[test]
fn the_requester_is_told_then_the_provider_then_both_are_said_to_know_and_that_is_all() {
    let mut seen = seen(Some(granted()), vec![wish()]);
    let writes = written(&seen);
    let [
        Write::Status { status, .. },
        Write::Create { place, view, name, .. },
        Write::Hold { held, target, .. },
    ] = &writes[..]
    else {
        panic!("{writes:?}")
    };
    assert_eq!(status.phase.as_deref(), Some("Reserved"));
    assert_eq!(status.message.as_deref(), Some("Use paris for 2 CPU / 4Gi Memory"));
    assert_eq!((place.namespace.as_str(), *view), ("paris", PROVIDERS_VIEW));
    assert_eq!(name.as_deref(), Some("my-workload"));
    assert_eq!((*held, target.as_deref()), (true, Some("paris")));
    write_all(&mut seen);
    assert_eq!(written(&seen), []);
    // However far the ledger goes on.
    seen.mark.position.number += 1;
    assert_eq!(written(&seen), []);
}

#[test]
fn what_is_over_holds_nothing_and_its_copy_says_so() {
    let mut seen = seen(Some(granted()), vec![wish()]);
    write_all(&mut seen);
    let over = granted();
    let phase = over.phase.clone().ended(NOW, Ending::Released(Release::Expired)).unwrap();
    seen.record = Some(Reservation { phase, ..over });
    write_all(&mut seen);
    let phases: Vec<_> = seen
        .objects
        .iter()
        .map(|seen| seen.object.status.clone().unwrap().phase.unwrap())
        .collect();
    assert_eq!(phases, ["Released", "Released"]);
    assert!(!seen.objects[0].object.is_held());
    assert_eq!(written(&seen), []);
    // What the ledger has forgotten is not shown to the provider any more.
    seen.record = None;
    write_all(&mut seen);
    assert_eq!(seen.objects.len(), 1);
}

#[test]
fn a_wish_whose_object_is_gone_or_deleted_is_given_back_and_one_over_http_is_not() {
    let is_release = |command| matches!(command, Some(Command::Release { .. }));
    assert!(is_release(submitted(&seen(Some(granted()), Vec::new()))));
    let mut deleted = wish();
    let at = serde_json::from_value(json!("2026-01-02T15:04:05Z")).unwrap();
    change(&mut deleted, |object| object.metadata.deletion_timestamp = Some(at));
    assert!(is_release(submitted(&seen(Some(granted()), vec![deleted]))));
    for key in [None, "kubernetes:my-job".parse().ok()] {
        let over_http = Reservation { key, ..granted() };
        let writes = written(&seen(Some(over_http), Vec::new()));
        assert_eq!(writes.len(), 2, "both sides get a view: {writes:?}");
    }
}

#[test]
fn a_new_end_is_said_to_be_accepted_only_if_it_was() {
    let told = |end: &str, record: Reservation| {
        let mut wish = wish();
        change(&mut wish, |object| object.spec.expires_at = Some(end.to_owned()));
        let writes = written(&seen(Some(record), vec![wish]));
        let Some(Write::Status { status, .. }) = writes.first() else { panic!("{writes:?}") };
        let renewed = status.conditions.iter().find(|it| it.kind == RENEWED).cloned();
        renewed.map(|it| (it.status, it.reason))
    };
    let end = "2027-01-15T08:00:00Z";
    let accepted = Reservation { expires_at: Some(NOW), ..granted() };
    assert_eq!(told(end, accepted), Some((Truth::True, "Accepted".to_owned())));
    assert_eq!(told("tomorrow", granted()), Some((Truth::False, "invalid".to_owned())));
    let ended = granted();
    let phase = ended.phase.clone().ended(NOW, Ending::Released(Release::Expired)).unwrap();
    let ended = Reservation { phase, ..ended };
    assert_eq!(told(end, ended), Some((Truth::False, "already-ended".to_owned())));
}

/// Rome's wish for an end, which was agreed on and shown.
fn renewed(end: &str) -> Seen {
    let mut wish = wish();
    change(&mut wish, |object| object.spec.expires_at = Some(end.to_owned()));
    let mut seen = seen(Some(ending(end)), vec![wish]);
    write_all(&mut seen);
    seen
}

fn ending(end: &str) -> Reservation {
    Reservation { expires_at: moment::read(end).ok(), ..granted() }
}

const EARLY: &str = "2027-02-01T00:00:00Z";
const LATE: &str = "2027-03-01T00:00:00Z";

#[test]
fn a_renewal_by_http_outlives_an_older_wish() {
    let mut seen = renewed(EARLY);
    seen.record = Some(ending(LATE));
    // Also for a broker that has just started: what it knows stands in the status.
    assert_eq!(submitted(&seen), None);
    write_all(&mut seen);
    let status = seen.objects[0].object.status.clone().unwrap();
    assert_eq!(status.expires_at.as_deref(), Some(LATE));
    assert!(is_true(&status.conditions, RENEWED), "it was taken: {status:?}");
    assert_eq!((submitted(&seen), written(&seen)), (None, vec![]));
    // A wish that has changed counts.
    let other = "2027-04-01T00:00:00Z";
    change(&mut seen.objects[0], |object| object.spec.expires_at = Some(other.to_owned()));
    let Some(Command::Renew { until, .. }) = submitted(&seen) else { panic!("it is not asked") };
    assert_eq!(Some(until), moment::read(other).ok());
}

#[test]
fn an_end_that_was_refused_is_not_asked_for_again_by_a_broker_that_starts() {
    let mut seen = renewed(LATE);
    change(&mut seen.objects[0], |object| object.spec.expires_at = Some(EARLY.to_owned()));
    let answer = Answer {
        code: Some("too-long".to_owned()),
        message: "too long".to_owned(),
        explanation: None,
    };
    seen.answers.add(Wish::Renew(EARLY.to_owned()), answer);
    write_all(&mut seen);
    seen.answers = Answers::default();
    assert_eq!((submitted(&seen), written(&seen)), (None, vec![]));
}

#[test]
fn a_wish_that_was_taken_back_can_be_made_again() {
    let mut seen = renewed(EARLY);
    seen.record = Some(ending(LATE));
    change(&mut seen.objects[0], |object| object.spec.expires_at = None);
    write_all(&mut seen);
    change(&mut seen.objects[0], |object| object.spec.expires_at = Some(EARLY.to_owned()));
    assert!(matches!(submitted(&seen), Some(Command::Renew { .. })));
}

#[test]
fn of_several_answers_to_wishes_for_an_end_the_last_one_counts() {
    let mut answers = Answers::default();
    for end in [EARLY, LATE] {
        let answer = Answer { code: None, message: String::new(), explanation: None };
        answers.add(Wish::Renew(end.to_owned()), answer);
    }
    assert!(answers.to(&Wish::Renew(EARLY.to_owned())).is_none());
    assert!(answers.to(&Wish::Renew(LATE.to_owned())).is_some());
}

#[test]
fn what_a_restored_ledger_has_forgotten_of_a_wish_is_asked_for_again() {
    let mut seen = renewed(LATE);
    seen.mark.position.incarnation += 1;
    seen.record = Some(ending(EARLY));
    assert!(matches!(submitted(&seen), Some(Command::Renew { .. })));
    // Once it was seen by the restored ledger, it is as before.
    seen.record = Some(ending(LATE));
    write_all(&mut seen);
    seen.record = Some(ending(EARLY));
    assert_eq!(submitted(&seen), None);
}

#[test]
fn an_end_is_asked_for_when_the_provider_has_said_what_it_holds() {
    let mut seen = renewed(LATE);
    seen.mark.position.incarnation += 1;
    seen.record = Some(ending(EARLY));
    seen.recovering = true;
    assert_eq!(submitted(&seen), None);
    write_all(&mut seen);
    let status = seen.objects[0].object.status.clone().unwrap();
    assert!(status.conditions.iter().all(|it| it.kind != RENEWED), "not known yet: {status:?}");
    seen.recovering = false;
    assert!(matches!(submitted(&seen), Some(Command::Renew { .. })));
    // Unless it remembers that end itself.
    seen.record = Some(ending(LATE));
    assert_eq!(submitted(&seen), None);
    write_all(&mut seen);
    let status = seen.objects[0].object.status.clone().unwrap();
    assert!(is_true(&status.conditions, RENEWED), "{status:?}");
}

#[test]
fn only_the_sides_own_words_count() {
    let with = |kind: &str, in_copy: bool| {
        let mut seen = seen(Some(granted()), vec![wish()]);
        write_all(&mut seen);
        says(&mut seen.objects[usize::from(in_copy)], kind, "the disks are full");
        submitted(&seen)
    };
    assert!(matches!(with(REQUESTER_RELEASED, false), Some(Command::Release { .. })));
    assert!(matches!(with(REQUESTER_ACTIVE, false), Some(Command::Activate { .. })));
    assert_eq!(with(REQUESTER_RELEASED, true), None);
    assert_eq!(with(REQUESTER_ACTIVE, true), None);
    let Some(Command::Reject { reason, .. }) = with(PROVIDER_REJECTED, true) else {
        panic!("the provider is not heard")
    };
    assert_eq!(reason.as_str(), "the disks are full");
    assert_eq!(with(PROVIDER_REJECTED, false), None);
}

#[test]
fn a_refusal_is_told_once_and_stays_whatever_is_edited() {
    let mut seen = seen(None, vec![wish()]);
    let answer = Answer { code: None, message: "no cluster fits".to_owned(), explanation: None };
    seen.answers.add(Wish::Reserve, answer);
    write_all(&mut seen);
    assert_eq!(written(&seen), []);
    change(&mut seen.objects[0], |object| {
        object.status =
            Some(ReservationStatus { phase: Some("Reserved".to_owned()), ..Default::default() });
    });
    assert_eq!(written(&seen).len(), 1);
    // After a restart the status is all that is known of it, and enough.
    write_all(&mut seen);
    seen.answers = Answers::default();
    assert_eq!(written(&seen), []);
}

#[test]
fn nobody_is_asked_for_where_nobody_is_bound_or_another_is_named() {
    let mut unbound = wish();
    unbound.speaker = Speaker::Nobody("bound to no cluster".to_owned());
    let phase = |sighting: Sighting| match &written(&seen(None, vec![sighting]))[..] {
        [Write::Status { status, .. }] => status.phase.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(phase(unbound), "Pending");
    let mut another = wish();
    change(&mut another, |object| object.spec.requester_id = Some("paris".to_owned()));
    assert_eq!(phase(another), "Failed");
    let mut unreadable = wish();
    change(&mut unreadable, |object| object.spec.requested_resources.cpu = "0".into());
    assert_eq!(phase(unreadable), "Failed");
}

#[test]
fn a_promise_that_its_provider_may_still_remember_is_not_asked_for_elsewhere() {
    let mut seen = seen(None, vec![wish()]);
    seen.recovering = true;
    let [Write::Status { status, .. }] = &written(&seen)[..] else { panic!("it is asked for") };
    assert_eq!(status.phase.as_deref(), Some("Pending"));
}

/// What a ledger that was restored before the grant sees of Rome's wish, of which it knows nothing. Its fleet may know Paris.
fn forgotten(knows_paris: bool) -> (Seen, Fleet) {
    let mut before = seen(Some(granted()), vec![wish()]);
    write_all(&mut before);
    let mut fleet = Fleet::restored(Policy::default(), 2, 1);
    if knows_paris {
        let record = Box::new(ClusterRecord::new(cluster("paris")));
        fleet.apply(Change::Cluster(record)).unwrap();
    }
    let position = Position { incarnation: 2, number: 1 };
    let mark = Mark { position, ..before.mark };
    (Seen { record: None, requesters_home: None, providers_home: None, mark, ..before }, fleet)
}

/// Looks as often as a broker does in a while, each time at what the objects say by then.
fn look_twice(seen: &mut Seen, fleet: &Fleet, patience: bool) {
    for _ in 0..2 {
        seen.recovering = is_awaited(fleet, &seen.objects, patience);
        write_all(seen);
    }
    seen.recovering = is_awaited(fleet, &seen.objects, patience);
}

#[test]
fn a_forgotten_promise_is_waited_for_however_often_it_is_looked_at() {
    for (knows_paris, copies) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let (mut seen, fleet) = forgotten(knows_paris);
        // In a namespace that all share, there is no copy for the provider.
        seen.objects.truncate(1 + copies);
        look_twice(&mut seen, &fleet, true);
        assert_eq!(written(&seen), [], "it is known: {knows_paris}");
        assert_eq!(seen.objects.len(), 1 + copies, "the provider's copy stays");
        let wish = &seen.objects[0].object;
        assert!(wish.is_held());
        let status = wish.status.clone().unwrap();
        assert_eq!(status.phase.as_deref(), Some("Pending"));
        assert_eq!(status.target_cluster_id.as_deref(), Some("paris"));
        assert_eq!(status.reservation_id, Some(id().to_string()));
    }
}

#[test]
fn who_keeps_a_forgotten_promise_is_also_found_in_the_spec_of_what_is_held() {
    let (mut seen, fleet) = forgotten(true);
    seen.objects.truncate(1);
    change(&mut seen.objects[0], |object| object.status = None);
    look_twice(&mut seen, &fleet, true);
    assert!(seen.recovering);
    // A target that a user wishes for has promised nothing.
    change(&mut seen.objects[0], |object| object.metadata.finalizers = None);
    change(&mut seen.objects[0], |object| object.status = None);
    assert!(!is_awaited(&fleet, &seen.objects, true));
}

#[test]
fn a_forgotten_promise_whose_wish_is_deleted_is_given_back_once_its_provider_has_told_of_it() {
    let (mut seen, fleet) = forgotten(true);
    delete(&mut seen.objects[0]);
    look_twice(&mut seen, &fleet, true);
    assert!(seen.objects[0].object.is_held(), "else nobody is left to give it back");
    seen.record = Some(Reservation { key: None, ..granted() });
    assert!(matches!(submitted(&seen), Some(Command::Release { .. })));
}

#[test]
fn a_provider_that_never_introduces_itself_is_not_waited_for_for_ever() {
    let (mut seen, fleet) = forgotten(false);
    look_twice(&mut seen, &fleet, true);
    assert!(seen.recovering);
    seen.recovering = is_awaited(&fleet, &seen.objects, false);
    assert!(matches!(submitted(&seen), Some(Command::Reserve { .. })));
    let never_restored = Fleet::new(Policy::default());
    assert!(!is_awaited(&never_restored, &seen.objects, true));
}

#[test]
fn views_of_a_promise_that_its_provider_may_still_remember_stay() {
    let views = || vec![view(PROVIDERS_VIEW, &id().to_string(), "ns-rome")];
    let mut seen = seen(None, views());
    assert!(matches!(&written(&seen)[..], [.., Write::Delete { .. }]));
    seen.recovering = true;
    assert_eq!(written(&seen), []);
}

/// A view of the reservation that somebody asked for over HTTP.
fn view(side: &str, name: &str, namespace: &str) -> Sighting {
    let object = json!({
        "apiVersion": "broker.fluidos.eu/v1alpha1", "kind": "Reservation",
        "metadata": {
            "name": name, "namespace": namespace, "uid": uuid::Uuid::from_u128(7).to_string(),
            "labels": { VIEW_LABEL: side },
        },
        "spec": { "requestedResources": { "cpu": "2", "memory": "4Gi" } },
    });
    sighting(serde_json::from_value(object).unwrap(), namespace)
}

fn delete(sighting: &mut Sighting) {
    let at = serde_json::from_value(json!("2026-01-02T15:04:05Z")).unwrap();
    change(sighting, |object| object.metadata.deletion_timestamp = Some(at));
}

fn over_http() -> Reservation {
    Reservation { key: None, ..granted() }
}

#[test]
fn reservations_that_were_made_as_resources_are_known_by_their_key_after_every_update() {
    assert_eq!(key_of(id()), format!("kubernetes:{}", id()));
}

#[test]
fn a_view_is_about_what_its_name_says_and_a_wish_has_the_id_of_its_object() {
    let of = |sighting: &Sighting| (id_of(&sighting.object), id_of_wish(&sighting.object.metadata));
    assert_eq!(of(&wish()), (Some(id()), Some(id())));
    for side in [REQUESTERS_VIEW, PROVIDERS_VIEW] {
        assert_eq!(of(&view(side, &id().to_string(), "rome")), (Some(id()), None));
        // Whoever labels a wish of their own has still made a wish.
        let own = Some(ReservationId::from_bits(7));
        assert_eq!(of(&view(side, "my-workload", "rome")), (own, own));
    }
    assert_eq!(of(&view("both", &id().to_string(), "rome")).0, Some(ReservationId::from_bits(7)));
}

#[test]
fn views_stay_where_their_sides_are_at_home_and_go_elsewhere() {
    let mut seen = seen(Some(over_http()), Vec::new());
    write_all(&mut seen);
    write_all(&mut seen);
    assert_eq!(written(&seen), []);
    let places = |seen: &Seen| -> Vec<_> {
        seen.objects.iter().map(|seen| seen.place.namespace.clone()).collect()
    };
    assert_eq!(places(&seen), ["rome", "paris"]);
    // Others of them, of which one is on its way out already.
    let mut going = view(PROVIDERS_VIEW, &id().to_string(), "bern");
    delete(&mut going);
    for (side, namespace) in [(REQUESTERS_VIEW, "oslo"), (PROVIDERS_VIEW, "kiel")] {
        seen.objects.insert(0, view(side, &id().to_string(), namespace));
    }
    seen.objects.insert(0, going);
    let deleted = |seen: &Seen| -> Vec<_> {
        let deleted = written(seen).into_iter().map(|write| match write {
            Write::Delete { place } => place.namespace,
            other => panic!("{other:?}"),
        });
        deleted.collect()
    };
    assert_eq!(deleted(&seen), ["kiel", "oslo"]);
    // Both in one namespace need one view, which is the requester's.
    seen.objects.retain(|seen| ["rome", "paris"].contains(&seen.place.namespace.as_str()));
    seen.objects.push(view(PROVIDERS_VIEW, &id().to_string(), "rome"));
    seen.objects.last_mut().unwrap().place.name = "another".to_owned();
    seen.providers_home = Some("rome".to_owned());
    assert_eq!(deleted(&seen), ["paris", "rome"]);
}

#[test]
fn what_is_being_deleted_is_not_written_to() {
    let mut seen = seen(Some(over_http()), Vec::new());
    write_all(&mut seen);
    write_all(&mut seen);
    let ended = over_http();
    let phase = ended.phase.clone().ended(NOW, Ending::Released(Release::Expired)).unwrap();
    seen.record = Some(Reservation { phase, ..ended });
    seen.objects.iter_mut().for_each(delete);
    let writes = written(&seen);
    let [Write::Hold { held: false, .. }] = &writes[..] else { panic!("{writes:?}") };
}

#[test]
fn what_is_over_is_not_shown_anew() {
    let ended = over_http();
    let phase = ended.phase.clone().ended(NOW, Ending::Released(Release::Expired)).unwrap();
    assert_eq!(written(&seen(Some(Reservation { phase, ..ended }), Vec::new())), []);
}

#[test]
fn an_answer_to_a_program_stays_for_an_hour_and_one_to_a_person_for_good() {
    let refused = |labelled: bool| {
        let mut wish = wish();
        if labelled {
            let label = (TRANSIENT_LABEL.to_owned(), "true".to_owned());
            change(&mut wish, |object| object.metadata.labels = Some([label].into()));
        }
        let mut seen = seen(None, vec![wish]);
        let answer = Answer { code: None, message: "no room".to_owned(), explanation: None };
        seen.answers.add(Wish::Reserve, answer);
        write_all(&mut seen);
        seen.answers = Answers::default();
        seen
    };
    let after = |seen: &mut Seen, seconds: i64| {
        seen.now = Timestamp::from_seconds(1_800_000_000 + seconds);
        written(seen)
    };
    let mut programs = refused(true);
    assert_eq!(after(&mut programs, 60 * 60 - 1), []);
    let place = programs.objects[0].place.clone();
    assert_eq!(after(&mut programs, 60 * 60), [Write::Delete { place }]);
    assert_eq!(after(&mut refused(false), 60 * 60), []);
}

#[test]
fn a_broker_is_behind_when_an_object_was_written_from_a_newer_state_of_its_ledger() {
    let mut seen = seen(Some(granted()), vec![wish()]);
    assert!(!seen.is_behind(), "nothing is written there yet");
    write_all(&mut seen);
    let mut behind = |ledger: u128, number: u64| {
        seen.mark = Mark { ledger, position: Position { incarnation: 1, number } };
        seen.is_behind()
    };
    assert_eq!([behind(1, 6), behind(1, 7), behind(1, 8)], [true, false, false]);
    assert!(!behind(2, 6), "it is of another ledger");
}

#[test]
fn an_answer_to_a_new_end_stands_when_the_reservation_is_over() {
    let mut seen = renewed(EARLY);
    let ended = ending(LATE);
    let phase = ended.phase.clone().ended(NOW, Ending::Released(Release::Expired)).unwrap();
    seen.record = Some(Reservation { phase, ..ended });
    write_all(&mut seen);
    let status = seen.objects[0].object.status.clone().unwrap();
    assert_eq!(status.phase.as_deref(), Some("Released"));
    assert!(is_true(&status.conditions, RENEWED), "{status:?}");
}

#[test]
fn an_end_that_nobody_may_ask_for_is_not_answered() {
    let mut wish = wish();
    wish.speaker = Speaker::Nobody("bound to no cluster".to_owned());
    change(&mut wish, |object| object.spec.expires_at = Some(LATE.to_owned()));
    let writes = written(&seen(Some(granted()), vec![wish]));
    let Some(Write::Status { status, .. }) = writes.first() else { panic!("{writes:?}") };
    assert!(status.conditions.iter().all(|it| it.kind != RENEWED), "{status:?}");
}

#[test]
fn the_audit_log_has_the_same_words_for_wishes_as_for_requests() {
    let wishes = [Wish::Reserve, Wish::Explain, Wish::Activate, Wish::Reject, Wish::Release];
    let words = ["reserve", "explain", "activate", "reject", "release"];
    assert_eq!(wishes.map(|wish| wish.action()), words);
    assert_eq!(Wish::Renew(EARLY.to_owned()).action(), "renew");
}
