//! Events say what happened, by whom, with the object beside it.

use std::collections::BTreeSet;

use rear_api::event::{By, EventData, EventName, Object, reason};
use rear_api::reservation::Reservation;
use rear_engine::reservation::{Ending, Failure, Release};
use rear_engine::testing::{cluster, id};
use rear_engine::{Actor, Event, Happening, Subject, Timestamp};
use serde_json::{Value, json};

use crate::bodies::json;

fn event(subject: Subject, what: Happening, by: Actor) -> Event {
    Event { at: Timestamp::from_seconds(1_767_366_245), subject, what, by }
}

#[test]
fn an_event_of_a_reservation_shows_it_as_its_get_does() {
    let shown = include_str!("data/earlier-reservation.json");
    let reservation: Reservation = serde_json::from_str(shown).unwrap();
    let expired = Happening::Ended(Ending::Released(Release::Expired));
    let event = event(Subject::Reservation(id(1)), expired, Actor::Broker);
    assert_eq!(EventName::of(&event).name(), "reservation");
    let data = EventData::of(&event, Object::Reservation(Box::new(reservation.clone())));
    let expected = json!({
        "at": "2026-01-02T15:04:05Z",
        "reason": "expired",
        "reservation": json(&reservation),
    });
    assert_eq!(json(&data), expected);
}

#[test]
fn a_forgotten_cluster_is_still_named() {
    let by = Actor::Administrator(cluster("ops"));
    let event = event(Subject::Cluster(cluster("rome")), Happening::Forgotten, by);
    assert_eq!(EventName::of(&event).name(), "cluster");
    let expected: Value = json!({
        "at": "2026-01-02T15:04:05Z",
        "reason": "forgotten",
        "by": "administrator/ops",
        "clusterID": "rome",
    });
    assert_eq!(json(&EventData::of(&event, Object::Gone)), expected);
}

#[test]
fn an_advertisement_is_an_event_of_its_own_name() {
    let by = || Actor::Cluster(cluster("rome"));
    let advertised = event(Subject::Cluster(cluster("rome")), Happening::Advertised, by());
    assert_eq!(EventName::of(&advertised).name(), "advertisement");
    let fresh = event(Subject::Cluster(cluster("rome")), Happening::BecameFresh, by());
    assert_eq!(EventName::of(&fresh).name(), "cluster");
    let all = event(Subject::Fleet, Happening::Recovered, Actor::Administrator(cluster("ops")));
    assert_eq!(EventName::of(&all).name(), "cluster");
    assert_eq!(EventData::of(&all, Object::Gone).cluster_id, None);
}

#[test]
fn everything_that_can_happen_has_a_word_of_its_own() {
    let ended = |ending| Happening::Ended(ending);
    let rejected = Failure::Rejected("no".parse().unwrap());
    let words = [
        Happening::Advertised,
        Happening::Reserved,
        Happening::Activated,
        Happening::Renewed,
        ended(Ending::Released(Release::ByRequester)),
        ended(Ending::Released(Release::ByAdministrator)),
        ended(Ending::Released(Release::Expired)),
        ended(Ending::Released(Release::RequesterGone)),
        ended(Ending::Failed(Failure::NoRoom)),
        ended(Ending::Failed(rejected)),
        ended(Ending::Failed(Failure::ProviderGone)),
        Happening::Adopted,
        Happening::BecameStale,
        Happening::BecameFresh,
        Happening::BecameOvercommitted,
        Happening::NoLongerOvercommitted,
        Happening::Recovered,
        Happening::Forgotten,
    ];
    let distinct: BTreeSet<_> = words.iter().map(reason).collect();
    assert_eq!(distinct.len(), words.len());
    assert!(distinct.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
}

#[test]
fn who_did_something_is_read_as_it_is_printed() {
    for by in [By::Cluster(cluster("rome")), By::Administrator(cluster("ops"))] {
        assert_eq!(by.to_string().parse(), Ok(by));
    }
    for bad in ["", "rome", "cluster", "cluster/", "cluster/Rome", "robot/rome", "cluster/a/b"] {
        assert!(bad.parse::<By>().is_err(), "{bad:?}");
    }
}
