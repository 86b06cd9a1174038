//! A request reaches the engine whole, or is refused by name: nothing that was asked for is silently left out.

use rear_api::body::BodyError;
use rear_api::reservation::{RejectRequest, RenewRequest, ReservationRequest, Role};
use rear_engine::ask::Strategy;
use rear_engine::price::PriceCeiling;
use rear_engine::testing::{all_resources, cluster, labels, resources};
use rear_engine::{Ask, Duration, Terms};
use serde_json::json;

use crate::bodies::{RESERVATION_REQUEST, read, with, with_member, without_member};

fn asked(body: &str) -> Result<Ask, BodyError> {
    Ok(read::<ReservationRequest>(body)?.ask(&cluster("berlin"))?)
}

fn refused(body: &str) -> String {
    match asked(body) {
        Err(BodyError::Invalid(invalid)) => invalid.to_string(),
        other => panic!("expected a member to be refused, not {other:?} for {body}"),
    }
}

#[test]
fn every_member_reaches_the_engine() {
    let terms = Terms {
        priority: -3,
        duration: Some(Duration::from_seconds(5400)),
        target: Some(cluster("rome")),
        strategy: Some(Strategy::Cheapest),
        required: labels(&[("region", "eu")]),
        preferred: labels(&[("tier", "gold")]),
        ceiling: Some(PriceCeiling {
            amount: "2.5".parse().unwrap(),
            currency: "EUR".parse().unwrap(),
        }),
    };
    let amounts = all_resources("1500m", "4Gi", "1", "10Gi");
    let expected = Ask::new(cluster("paris"), amounts, terms).unwrap();
    assert_eq!(asked(RESERVATION_REQUEST).unwrap(), expected);
}

#[test]
fn without_anything_else_the_caller_asks_for_itself_on_default_terms() {
    let ask = asked(r#"{"requestedResources": {"cpu": 2, "memory": "4Gi"}}"#).unwrap();
    let expected = Ask::new(cluster("berlin"), resources("2", "4Gi"), Terms::default()).unwrap();
    assert_eq!(ask, expected);
}

#[test]
fn what_is_not_known_is_refused_by_name_at_every_level() {
    for (object, path) in [
        ("", ""),
        ("/requestedResources", "requestedResources."),
        ("/constraints", "constraints."),
        ("/constraints/maxPrice", "constraints.maxPrice."),
    ] {
        let text = refused(&with_member(RESERVATION_REQUEST, object, "duratoin", "1h"));
        let expected = format!("{path}duratoin: unknown field `duratoin`, expected one of");
        let short = format!("{path}duratoin: unknown field `duratoin`, expected `amount` or");
        assert!(text.starts_with(&expected) || text.starts_with(&short), "{text}");
    }
}

#[test]
fn case_matters() {
    let text = refused(&with_member(RESERVATION_REQUEST, "", "Duration", "1h"));
    assert!(text.starts_with("Duration: unknown field `Duration`"), "{text}");
}

#[test]
fn a_wrong_value_is_refused_with_its_path() {
    let cases = [
        ("/requestedResources/cpu", json!("0"), "requestedResources.cpu: requested cpu must be"),
        ("/requestedResources/memory", json!(0), "requestedResources.memory: requested memory"),
        (
            "/requestedResources/gpu",
            json!("-1"),
            "requestedResources.gpu: the quantity is negative",
        ),
        (
            "/requestedResources/storage",
            json!("8Ei"),
            "requestedResources.storage: the quantity is",
        ),
        ("/requestedResources/cpu", json!(null), "requestedResources.cpu: invalid type: null"),
        ("/requestedResources", json!(["1", "1Gi"]), "requestedResources: invalid type: sequence"),
        ("/priority", json!(2_147_483_648_i64), "priority: invalid value: integer `2147483648`"),
        ("/priority", json!(1.0), "priority: invalid type: floating point"),
        ("/priority", json!("1"), "priority: invalid type: string"),
        ("/duration", json!(""), "duration: a duration is missing"),
        ("/duration", json!("1 hour"), "duration: unknown unit"),
        ("/duration", json!("1d"), "duration: unknown unit"),
        ("/duration", json!("0"), "duration: a duration is between 1s and"),
        ("/duration", json!("-1h"), "duration: a duration is between 1s and"),
        ("/duration", json!("8785h"), "duration: a duration is between 1s and"),
        ("/duration", json!(3600), "duration: invalid type: integer"),
        ("/targetClusterID", json!("../rome"), "targetClusterID: a cluster id consists"),
        ("/strategy", json!("Cheapest"), "strategy: unknown strategy"),
        ("/onBehalfOf", json!(""), "onBehalfOf: a cluster id has"),
        ("/constraints", json!([]), "constraints: invalid type: sequence, expected an object"),
        (
            "/constraints/labels/region",
            json!(null),
            "constraints.labels.region: invalid type: null",
        ),
        (
            "/constraints/labels/region",
            json!("\u{0}"),
            "constraints.labels: labels have no control",
        ),
        (
            "/constraints/preferredLabels/tier",
            json!("\u{202e}"),
            "constraints.preferredLabels: labels",
        ),
        ("/constraints/maxPrice/amount", json!("-1"), "constraints.maxPrice.amount: a price is"),
        (
            "/constraints/maxPrice/amount",
            json!("1000000001"),
            "constraints.maxPrice.amount: a price is at most",
        ),
        ("/constraints/maxPrice/currency", json!(""), "constraints.maxPrice.currency: a currency"),
    ];
    for (pointer, value, expected) in cases {
        let text = refused(&with(RESERVATION_REQUEST, pointer, value));
        assert!(text.starts_with(expected), "{pointer}: {text}");
    }
}

#[test]
fn a_request_names_no_more_labels_than_anyone_reads() {
    let labels = |count: usize| -> serde_json::Value {
        (0..count)
            .map(|n| (format!("key-{n:03}{}", "k".repeat(93)), json!("v".repeat(156))))
            .collect()
    };
    let both = |required: usize, preferred: usize| {
        let body = with(RESERVATION_REQUEST, "/constraints/labels", labels(required));
        with(&body, "/constraints/preferredLabels", labels(preferred))
    };
    // Each has 256 bytes.
    assert!(asked(&both(16, 16)).is_ok());
    let text = refused(&both(16, 17));
    assert_eq!(text, "constraints: labels of a request have at most 8192 bytes together");
}

#[test]
fn optional_members_may_be_null() {
    for member in
        ["priority", "duration", "targetClusterID", "strategy", "onBehalfOf", "constraints"]
    {
        let null = asked(&with(RESERVATION_REQUEST, &format!("/{member}"), json!(null))).unwrap();
        let absent = asked(&without_member(RESERVATION_REQUEST, "", member)).unwrap();
        assert_eq!(null, absent, "{member}");
    }
}

#[test]
fn what_is_asked_on_the_engines_terms_is_sent_so_that_it_means_the_same() {
    let ask = asked(RESERVATION_REQUEST).unwrap();
    let sent = serde_json::to_string(&ReservationRequest::from(&ask)).unwrap();
    let again = read::<ReservationRequest>(&sent).unwrap().ask(ask.requester()).unwrap();
    assert_eq!(again, ask);
}

#[test]
fn a_new_end_is_a_moment_and_nothing_else() {
    let until = |body: &str| Ok::<_, BodyError>(read::<RenewRequest>(body)?.until()?);
    let end = until(r#"{"expiresAt": "2026-01-02T15:04:05Z"}"#).unwrap();
    assert_eq!(end.as_nanos(), 1_767_366_245_000_000_000);
    for (body, expected) in [
        (r#"{"expiresAt": "1h"}"#, "expiresAt: a moment is written as in RFC 3339"),
        (r#"{"expiresAt": 1767366245}"#, "expiresAt: invalid type: integer"),
        (r#"{"expiresAt": null}"#, "expiresAt: invalid type: null"),
        (r#"{"expiresAt": "2026-01-02T15:04:05Z", "by": 1}"#, "by: unknown field `by`"),
        ("{}", "missing field `expiresAt`"),
        (r#"["2026-01-02T15:04:05Z"]"#, "invalid type: sequence, expected an object"),
    ] {
        let text = until(body).unwrap_err().to_string();
        assert!(text.starts_with(expected), "{body}: {text}");
    }
}

#[test]
fn a_rejection_has_one_line_of_reason() {
    let line = |body: &str| Ok::<_, BodyError>(read::<RejectRequest>(body)?.line()?);
    assert_eq!(line(r#"{"reason": "disk failed"}"#).unwrap().as_str(), "disk failed");
    for (body, expected) in [
        (r#"{"reason": ""}"#, "reason: a text is missing"),
        (r#"{"reason": "  "}"#, "reason: a text is missing"),
        (r#"{"reason": "a\nb"}"#, "reason: no control characters"),
        (r#"{"reason": null}"#, "reason: invalid type: null"),
        (r#"{"why": "disk failed"}"#, "why: unknown field `why`, expected `reason`"),
        ("{}", "missing field `reason`"),
    ] {
        let text = line(body).unwrap_err().to_string();
        assert!(text.starts_with(expected), "{body}: {text}");
    }
}

#[test]
fn a_role_is_one_of_two_words() {
    for role in Role::ALL {
        assert_eq!(role.to_string().parse(), Ok(role));
    }
    for bad in ["", "Requester", "both", "requester "] {
        assert!(bad.parse::<Role>().is_err(), "{bad:?}");
    }
}
