//! Agents and brokers of the earlier system: what they send is understood, what they need is sent.

use rear_api::advertisement::{AdvertisementAnswer, AdvertisementRequest};
use rear_api::body;
use rear_api::problem::Problem;
use rear_api::reservation::{PhaseName, Reservation, ReservationRequest};
use rear_engine::testing::{ask, cluster, resources};
use rear_engine::{Command, Duration};
use serde_json::{Value, json};

use crate::bodies::{json, read, with};

const ADVERTISEMENT: &str = include_str!("data/earlier-advertisement.json");
const ADVERTISEMENT_ANSWER: &str = include_str!("data/earlier-advertisement-answer.json");
const RESERVATION_REQUEST: &str = include_str!("data/earlier-reservation-request.json");
const RESERVATION: &str = include_str!("data/earlier-reservation.json");
const ERROR: &str = include_str!("data/earlier-error.json");

#[test]
fn an_older_agents_advertisement_is_understood() {
    let request: AdvertisementRequest = read(ADVERTISEMENT).unwrap();
    let Command::Advertise { cluster: named, advertisement, holding } =
        request.into_command().unwrap()
    else {
        panic!("not an advertisement");
    };
    assert_eq!(named, cluster("rome"));
    assert_eq!(advertisement.allocatable, resources("8", "16Gi"));
    assert_eq!(advertisement.allocated, resources("950m", "290Mi"));
    assert_eq!((advertisement.order, holding), (None, None));
}

#[test]
fn an_older_agents_request_is_understood() {
    let request: ReservationRequest = read(RESERVATION_REQUEST).unwrap();
    let asked = request.ask(&cluster("paris")).unwrap();
    assert_eq!(asked.resources(), resources("500m", "256Mi"));
    assert_eq!(asked.terms().priority, 10);
    assert_eq!(asked.terms().duration, Some(Duration::from_seconds(3600)));
}

#[test]
fn an_older_brokers_answer_is_understood() {
    let answer: AdvertisementAnswer = body::read_answer(ADVERTISEMENT_ANSWER.as_bytes()).unwrap();
    let reserved = answer.advertisement.resources.reserved.unwrap();
    assert_eq!(reserved.resources().unwrap(), resources("2", "4Gi"));
    let [held] = answer.provider_instructions.unwrap().try_into().unwrap();
    assert_eq!(held.id, "rsv-paris-1767366245123");
    assert_eq!(held.status.phase, PhaseName::Reserved);
    assert_eq!((held.status.reservation_phase, held.priority), (None, 0));
}

#[test]
fn what_an_older_broker_reserved_is_sent_back_to_it() {
    let answer: AdvertisementAnswer = body::read_answer(ADVERTISEMENT_ANSWER.as_bytes()).unwrap();
    let mut request: AdvertisementRequest = read(ADVERTISEMENT).unwrap();
    request.resources.reserved = answer.advertisement.resources.reserved;
    request.resources.available = Some(answer.advertisement.resources.available);
    let expected = with(ADVERTISEMENT, "/resources/reserved", json!({"cpu": "2", "memory": "4Gi"}));
    let expected = with(&expected, "/resources/available", json!({"cpu": "6", "memory": "12Gi"}));
    assert_eq!(json(&request), serde_json::from_str::<Value>(&expected).unwrap());
}

#[test]
fn a_plain_request_has_only_members_that_an_older_broker_knows() {
    let request = ReservationRequest::from(&ask("paris", resources("500m", "256Mi")));
    let expected = json!({"requestedResources": {"cpu": "500m", "memory": "256Mi"}});
    assert_eq!(json(&request), expected);
}

#[test]
fn an_older_brokers_reservation_is_understood_also_with_members_and_phases_of_its_own() {
    let reservation: Reservation = body::read_answer(RESERVATION.as_bytes()).unwrap();
    assert_eq!(reservation.target_cluster_id, "rome");
    assert_eq!(reservation.status.expires_at.as_deref(), Some("2026-01-02T16:04:05Z"));
    let stranger = with(RESERVATION, "/status/phase", json!("Dreaming"));
    let stranger = with(&stranger, "/createdAt", json!(null));
    let stranger = stranger.replacen('{', "{\"uid\": {\"a\": [1]},", 1);
    let reservation: Reservation = body::read_answer(stranger.as_bytes()).unwrap();
    assert_eq!(reservation.status.phase, PhaseName::Other("Dreaming".to_owned()));
    assert_eq!(reservation.created_at, None);
}

#[test]
fn an_empty_list_of_instructions_is_an_empty_array() {
    let none: Vec<Reservation> = body::read_answer(b"[]").unwrap();
    assert_eq!(serde_json::to_string(&none).unwrap(), "[]");
}

#[test]
fn an_older_brokers_error_is_understood() {
    let problem: Problem = body::read_answer(ERROR.as_bytes()).unwrap();
    assert_eq!(problem.text(), "no suitable cluster found");
    assert_eq!(problem.known_code(), None);
}
