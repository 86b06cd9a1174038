//! What an agent says of its cluster reaches the engine whole, or is refused with the path of the member at fault.

use rear_api::advertisement::AdvertisementRequest;
use rear_api::body::{BodyError, Fault};
use rear_engine::advertisement::{Holding, Order};
use rear_engine::testing::{all_resources, ask, cluster, cost, id, labels};
use rear_engine::{Advertisement, Ask, Command, Terms};
use serde_json::json;

use crate::bodies::{ADVERTISEMENT, read, with, with_member, without_member};

fn told(body: &str) -> Result<(Advertisement, Option<Vec<Holding>>), BodyError> {
    let request: AdvertisementRequest = read(body)?;
    match request.into_command()? {
        Command::Advertise { advertisement, holding, .. } => Ok((*advertisement, holding)),
        other => panic!("an advertisement became {other:?}"),
    }
}

/// What is refused, with its path.
fn refused(body: &str) -> String {
    match told(body) {
        Err(BodyError::Invalid(invalid)) => invalid.to_string(),
        other => panic!("expected a member to be refused, not {other:?} for {body}"),
    }
}

#[test]
fn every_member_reaches_the_engine() {
    let request: AdvertisementRequest = read(ADVERTISEMENT).unwrap();
    let Command::Advertise { cluster: named, advertisement, holding } =
        request.into_command().unwrap()
    else {
        panic!("not an advertisement");
    };
    assert_eq!(named, cluster("rome"));
    assert_eq!(advertisement.name.as_str(), "Rome, second floor");
    assert_eq!(advertisement.timestamp.as_nanos(), 1_767_366_245_250_000_000);
    assert_eq!(advertisement.order, Some(Order { epoch: 7, sequence: 3 }));
    assert_eq!(advertisement.capacity, all_resources("64", "256Gi", "4", "2Ti"));
    assert_eq!(advertisement.allocatable, all_resources("62", "250Gi", "4", "2Ti"));
    assert_eq!(advertisement.allocated, all_resources("10", "20Gi", "1", "100Gi"));
    assert_eq!(advertisement.cost, Some(cost("0.05", "0.01", "1.5", "EUR")));
    assert_eq!(advertisement.labels, labels(&[("region", "eu"), ("tier", "gold")]));
    assert_eq!(advertisement.endpoint.unwrap().as_str(), "https://rome.example:6443");
    let promised = all_resources("2", "4Gi", "1", "0");
    assert_eq!(advertisement.consumed.by(&cluster("paris")), promised);
    let [held] = holding.unwrap().try_into().unwrap();
    assert_eq!(held.reservation, id(42));
    assert_eq!(held.ask, ask("paris", promised));
    assert_eq!(held.expires_at.unwrap().as_nanos(), 1_767_369_600_000_000_000);
}

#[test]
fn reserved_and_available_are_not_even_looked_at() {
    let (plain, _) = told(ADVERTISEMENT).unwrap();
    for nonsense in [json!(null), json!(-1), json!("8Ei"), json!({"cpu": "Ki"}), json!([[[]]])] {
        let body = with(ADVERTISEMENT, "/resources/available", nonsense.clone());
        let body = with_member(&body, "/resources", "reserved", nonsense);
        assert_eq!(told(&body).unwrap().0, plain);
    }
    let body = without_member(ADVERTISEMENT, "/resources", "available");
    assert_eq!(told(&body).unwrap().0, plain);
}

#[test]
fn members_that_are_not_known_are_ignored_wherever_they_stand() {
    let (plain, _) = told(ADVERTISEMENT).unwrap();
    for object in ["", "/resources", "/resources/capacity", "/cost", "/consumed/0", "/holding/0"] {
        let body = with_member(ADVERTISEMENT, object, "later", json!({"cpu": [1, 2, 3]}));
        assert_eq!(told(&body).unwrap().0, plain, "in {object:?}");
    }
}

#[test]
fn optional_members_may_be_absent_or_null() {
    for member in ["cost", "labels", "endpointURL", "consumed", "holding", "clusterName"] {
        let absent = told(&without_member(ADVERTISEMENT, "", member)).unwrap();
        let null = told(&with(ADVERTISEMENT, &format!("/{member}"), json!(null))).unwrap();
        assert_eq!(absent, null, "{member}");
    }
    let unnamed = without_member(ADVERTISEMENT, "", "clusterName");
    assert_eq!(told(&unnamed).unwrap().0.name.as_str(), "rome");
}

#[test]
fn saying_that_nothing_is_held_differs_from_not_saying_it() {
    let silent = without_member(ADVERTISEMENT, "", "holding");
    assert_eq!(told(&silent).unwrap().1, None);
    let empty = with(ADVERTISEMENT, "/holding", json!([]));
    assert_eq!(told(&empty).unwrap().1, Some(Vec::new()));
}

#[test]
fn quantities_are_texts_or_whole_numbers() {
    let whole = with(ADVERTISEMENT, "/resources/allocated/cpu", json!(10));
    assert_eq!(told(&whole).unwrap(), told(ADVERTISEMENT).unwrap());
    for inexact in [json!(1.5), json!(1e3), json!(true), json!({}), json!(["1"])] {
        let body = with(ADVERTISEMENT, "/resources/allocated/cpu", inexact);
        let text = refused(&body);
        assert!(text.starts_with("resources.allocated.cpu: invalid type"), "{text}");
        assert!(text.contains("a quantity as a string"), "{text}");
    }
    let too_large_for_64_bits =
        ADVERTISEMENT.replacen("\"cpu\": \"10\"", "\"cpu\": 18446744073709551616", 1);
    assert!(refused(&too_large_for_64_bits).starts_with("resources.allocated.cpu: invalid type"));
}

#[test]
fn a_wrong_value_is_refused_with_its_path() {
    let cases = [
        ("/clusterID", json!("Rome"), "clusterID: a cluster id consists of lower case"),
        ("/clusterName", json!("a\u{1b}[2J"), "clusterName: no control characters"),
        (
            "/timestamp",
            json!("2026-01-02 15:04:05"),
            "timestamp: a moment is written as in RFC 3339",
        ),
        (
            "/resources/allocatable/cpu",
            json!("-1"),
            "resources.allocatable.cpu: the quantity is negative",
        ),
        (
            "/resources/allocatable/cpu",
            json!(-1),
            "resources.allocatable.cpu: the quantity is negative",
        ),
        ("/resources/capacity/memory", json!("Ki"), "resources.capacity.memory: a quantity needs"),
        (
            "/resources/allocated/gpu",
            json!("9223372036854775808Ei"),
            "resources.allocated.gpu: the quantity is too large",
        ),
        (
            "/resources/allocated/storage",
            json!("1e400"),
            "resources.allocated.storage: the quantity is too large",
        ),
        ("/cost/cpuCost", json!("-0.1"), "cost.cpuCost: a price is a decimal number"),
        ("/cost/gpuCost", json!("1e3"), "cost.gpuCost: a price is a decimal number"),
        ("/cost/memoryCost", json!(0.05), "cost.memoryCost: invalid type: floating point"),
        ("/cost/currency", json!("€"), "cost.currency: a currency has 1 to 16"),
        ("/labels/region", json!(1), "labels.region: invalid type: integer `1`, expected a string"),
        ("/labels/region", json!("a\nb"), "labels: labels have no control characters"),
        ("/labels/region", json!("x".repeat(257)), "labels: a label's value has at most 256"),
        ("/endpointURL", json!("x".repeat(1025)), "endpointURL: at most 1024 bytes"),
        ("/consumed/0/requesterID", json!(""), "consumed[0].requesterID: a cluster id has 1 to 63"),
        ("/consumed/0/gpu", json!("1x"), "consumed[0].gpu: unknown suffix"),
        (
            "/holding/0/reservationID",
            json!("rsv-1"),
            "holding[0].reservationID: a reservation id is",
        ),
        ("/holding/0/resources/cpu", json!("0"), "holding[0].resources.cpu: requested cpu must be"),
        ("/holding/0/expiresAt", json!("never"), "holding[0].expiresAt: a moment is written"),
        ("/epoch", json!(-1), "epoch: invalid value: integer `-1`, expected u64"),
        ("/epoch", json!(null), "epoch: epoch and sequence go together"),
        ("/sequence", json!(null), "sequence: epoch and sequence go together"),
        ("/resources", json!([]), "resources: invalid type: sequence, expected an object"),
        ("/holding", json!({}), "holding: invalid type: map, expected a sequence"),
        ("/labels", json!([]), "labels: invalid type: sequence, expected an object of labels"),
    ];
    for (pointer, value, expected) in cases {
        let text = refused(&with(ADVERTISEMENT, pointer, value));
        assert!(text.starts_with(expected), "{pointer}: {text}");
    }
}

#[test]
fn a_member_that_is_needed_is_missed_by_name() {
    for (object, member, path) in [
        ("", "clusterID", ""),
        ("", "timestamp", ""),
        ("", "resources", ""),
        ("/resources", "allocatable", "resources: "),
        ("/resources/allocated", "cpu", "resources.allocated: "),
        ("/cost", "currency", "cost: "),
        ("/consumed/0", "memory", "consumed[0]: "),
        ("/holding/0", "resources", "holding[0]: "),
    ] {
        let text = refused(&without_member(ADVERTISEMENT, object, member));
        assert_eq!(text, format!("{path}missing field `{member}`"));
    }
}

#[test]
fn labels_and_consumers_are_limited_and_distinct() {
    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("k{n}"), json!("v"))).collect();
    assert_eq!(refused(&with(ADVERTISEMENT, "/labels", many)), "labels: at most 64 labels");
    let entry = json!({"requesterID": "paris", "cpu": "1", "memory": "1"});
    let twice = with(ADVERTISEMENT, "/consumed", json!([entry, entry]));
    assert_eq!(refused(&twice), "consumed: requester paris stands twice in consumed");
}

#[test]
fn the_cluster_that_a_body_names_is_known_before_anything_else_is_checked() {
    let body = with(ADVERTISEMENT, "/resources/allocatable/cpu", json!("nonsense"));
    let body = with(&body, "/clusterID", json!("../Paris"));
    let request: AdvertisementRequest = read(&body).unwrap();
    assert_eq!(request.cluster_id, "../Paris");
    assert!(matches!(request.into_command().unwrap_err().fault, Fault::ClusterId(_)));
}

#[test]
fn what_is_held_is_an_ask_on_default_terms() {
    let (_, holding) = told(ADVERTISEMENT).unwrap();
    let amounts = all_resources("2", "4Gi", "1", "0");
    let expected = Ask::new(cluster("paris"), amounts, Terms::default()).unwrap();
    assert_eq!(holding.unwrap()[0].ask, expected);
}
