//! The custom resources: their definitions, and that they say the same as the bodies of the wire.

use std::path::Path;

use kube::ResourceExt;
use rear_api::advertisement::AdvertisementRequest;
use rear_api::reservation::{PhaseName, ReservationRequest};
use rear_api::resources::names::{NAME_ANNOTATION, PROVIDERS_VIEW, TRANSIENT_LABEL, VIEW_LABEL};
use rear_api::resources::{
    ClusterAdvertisement, ClusterAdvertisementSpec, Reservation, ReservationSpec,
    ReservationStatus, definitions_as_yaml,
};
use rear_engine::Timestamp;
use serde_json::json;

/// With `BLESS=1` in the environment it writes the file.
#[test]
fn the_committed_definitions_are_what_the_program_prints() {
    let file = "../deploy/broker/crds/broker.fluidos.eu.yaml";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let printed = definitions_as_yaml().unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    assert!(
        std::fs::read_to_string(file).unwrap() == printed,
        "cargo run -p rear-broker -- crds > deploy/broker/crds/broker.fluidos.eu.yaml"
    );
}

fn spec(resources: &serde_json::Value) -> ClusterAdvertisementSpec {
    serde_json::from_value(json!({ "clusterID": "rome", "resources": resources })).unwrap()
}

#[test]
fn what_a_manifest_leaves_out_means_what_it_meant() {
    let spec = spec(&json!({ "capacity": { "cpu": 10, "memory": "8025424Ki" } }));
    let told = spec.request(Timestamp::from_seconds(0));
    assert_eq!(told.resources.allocatable.cpu.0, "10");
    assert_eq!(told.resources.allocated.memory.0, "0");
    assert_eq!(told.timestamp, "1970-01-01T00:00:00Z");
    assert!(told.into_command().is_ok());
}

#[test]
fn what_the_broker_adds_is_nobody_elses_to_say() {
    let said = spec(&json!({
        "capacity": { "cpu": "8", "memory": "1Gi" },
        "reserved": { "cpu": "7", "memory": "1Gi" },
        "available": { "cpu": "99", "memory": "1Gi" },
    }));
    let told = said.request(Timestamp::from_seconds(0));
    assert!(told.resources.reserved.is_none() && told.resources.available.is_none());
    let written = ClusterAdvertisementSpec::telling(&told);
    assert!(written.resources.reserved.is_none() && written.resources.available.is_none());
}

#[test]
fn an_advertisement_comes_back_from_its_object() {
    let text = r#"{"clusterID":"rome","clusterName":"Rome","timestamp":"2026-01-02T15:04:05Z",
        "resources":{"capacity":{"cpu":"8","memory":"16Gi","gpu":"2"},
            "allocatable":{"cpu":"8","memory":"16Gi","gpu":"2"},"allocated":{"cpu":"1","memory":"1Gi"}},
        "cost":{"cpuCost":"0.5","memoryCost":"0.1","currency":"EUR"},"labels":{"region":"eu"},
        "endpointURL":"https://rome","consumed":[{"requesterID":"oslo","cpu":"1","memory":"1Gi"}],
        "holding":[{"reservationID":"rsv-0000000000000000000000000000002a","requesterID":"oslo",
            "resources":{"cpu":"1","memory":"1Gi"}}],"epoch":3,"sequence":7}"#;
    let told: AdvertisementRequest = serde_json::from_str(text).unwrap();
    let spec = ClusterAdvertisementSpec::telling(&told);
    assert_eq!(spec.request(Timestamp::from_seconds(0)), told);
    // Nobody has looked at it yet.
    assert_eq!(ClusterAdvertisement::new("rome-adv", spec).shown(), None);
}

#[test]
fn a_wish_comes_back_from_its_object() {
    let text = r#"{"requestedResources":{"cpu":"2","memory":"4Gi","storage":"1Gi"},"priority":4,
        "duration":"1h","targetClusterID":"paris","strategy":"binpack",
        "constraints":{"labels":{"region":"eu"},"maxPrice":{"amount":"2","currency":"EUR"}}}"#;
    let asked: ReservationRequest = serde_json::from_str(text).unwrap();
    let spec = ReservationSpec::asking(&asked, Some("rome"));
    assert_eq!(spec.request(), asked);
    let chosen = ReservationSpec { target_cluster_id: Some("oslo".to_owned()), ..spec.clone() };
    assert!(spec.asks_the_same_as(&chosen));
    let longer = ReservationSpec { duration: Some("2h".to_owned()), ..spec.clone() };
    assert!(!spec.asks_the_same_as(&longer));
}

#[test]
fn a_reservation_is_shown_as_the_wire_shows_it() {
    let text = r#"{"id":"rsv-0000000000000000000000000000002a","requesterID":"rome","targetClusterID":"paris",
        "requestedResources":{"cpu":"2","memory":"4Gi"},"priority":0,"duration":"1h",
        "createdAt":"2026-01-02T15:04:05Z","status":{"phase":"Reserved","message":"Use paris",
        "reservedAt":"2026-01-02T15:04:05Z","expiresAt":"2026-01-02T16:04:05Z"}}"#;
    let body: rear_api::reservation::Reservation = serde_json::from_str(text).unwrap();
    let mut object = Reservation::new("any", ReservationSpec::viewing(&body));
    assert_eq!(object.shown("any"), None);
    object.status = Some(ReservationStatus::of(&body, &body.id, Vec::new()));
    let id = body.id.clone();
    // A user has named it.
    let named = rear_api::reservation::Reservation { name: Some("any".to_owned()), ..body };
    assert_eq!(object.shown(&id), Some(named));
    object.labels_mut().insert(VIEW_LABEL.to_owned(), PROVIDERS_VIEW.to_owned());
    assert_eq!(object.users_name(), None);
    object.annotations_mut().insert(NAME_ANNOTATION.to_owned(), "db".to_owned());
    assert_eq!(object.users_name().as_deref(), Some("db"));
    object.labels_mut().insert(TRANSIENT_LABEL.to_owned(), "true".to_owned());
    assert_eq!(object.users_name(), None, "a program has named it");
    let phase = |text: &str| {
        let phase = Some(text.to_owned());
        ReservationStatus { phase, ..ReservationStatus::default() }.phase_name()
    };
    assert_eq!(phase("Active"), Some(PhaseName::Active));
    assert_eq!(phase("Explained"), Some(PhaseName::Other("Explained".to_owned())));
}
