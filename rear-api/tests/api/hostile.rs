//! Bodies that are made to confuse: each gets one clear answer, 400 where it is not JSON and 422 where it is.

use rear_api::advertisement::AdvertisementRequest;
use rear_api::body::{self, BodyError, MAX_BODY_LENGTH, MAX_DEPTH, Unreadable};
use rear_api::problem::{Code, Problem, code_of_body};
use rear_api::reservation::ReservationRequest;
use serde_json::json;

use crate::bodies::{ADVERTISEMENT, RESERVATION_REQUEST, read, with_member};

/// A request that asks for this amount of CPU, as it stands in the text.
fn asking(cpu: &str) -> Vec<u8> {
    format!(r#"{{"requestedResources": {{"cpu": {cpu}, "memory": "1Gi"}}}}"#).into_bytes()
}

fn refused(body: &[u8]) -> (u16, String) {
    let error = match body::read::<ReservationRequest>(body) {
        Err(error) => error,
        Ok(request) => request.ask(&"rome".parse().unwrap()).unwrap_err().into(),
    };
    (code_of_body(&error).status(), error.to_string())
}

#[test]
fn what_is_not_json_is_unreadable() {
    let unterminated = br#"{"requestedResources": {"cpu": "1""#;
    let cases: [(&[u8], &str); 12] = [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"hello", "expected value at line 1 column 1"),
        (unterminated, "EOF while parsing"),
        (b"{\"a\": \"\xff\"}", "it is not UTF-8 at byte 7"),
        (b"{\"a\": \"\xed\xa0\x80\"}", "it is not UTF-8 at byte 7"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
        (b"{\"a\0\": 1}", "control character"),
        (b"{} {}", "trailing characters"),
        (b"{\"a\": 01}", "invalid number"),
        (b"{\"a\": NaN}", "expected value"),
        (b"{'a': 1}", "key must be a string"),
    ];
    for (body, expected) in cases {
        let (status, text) = refused(body);
        assert_eq!(status, 400, "{text}");
        assert!(text.starts_with("the body is not readable: "), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn trailing_garbage_makes_a_good_request_unreadable() {
    for garbage in ["}", "x", "{}", "\0", ",", "//"] {
        let (status, text) = refused(format!("{RESERVATION_REQUEST}{garbage}").as_bytes());
        assert_eq!(status, 400, "{text}");
    }
    assert!(read::<ReservationRequest>(&format!("{RESERVATION_REQUEST}\n \t")).is_ok());
}

#[test]
fn numbers_that_nobody_can_hold_are_refused() {
    for (cpu, status, expected) in [
        ("1e400", 400, "number out of range"),
        ("-1e400", 400, "number out of range"),
        ("-1", 422, "requestedResources.cpu: the quantity is negative"),
        ("18446744073709551616", 422, "requestedResources.cpu: invalid type: floating point"),
        ("0.5", 422, "requestedResources.cpu: invalid type: floating point"),
        ("\"1e400\"", 422, "requestedResources.cpu: the quantity is too large"),
        ("\"-1\"", 422, "requestedResources.cpu: the quantity is negative"),
        ("\"9223372036854775808Ei\"", 422, "requestedResources.cpu: the quantity is too large"),
        ("\"1\\u0000\"", 422, "requestedResources.cpu: unknown suffix"),
        ("\"١\"", 422, "requestedResources.cpu: a quantity needs at least one digit"),
    ] {
        let (found, text) = refused(&asking(cpu));
        assert_eq!(found, status, "{cpu}: {text}");
        assert!(text.contains(expected), "{cpu}: {text}");
    }
}

#[test]
fn a_surrogate_that_stands_alone_is_unreadable() {
    for escape in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud800x"] {
        let (status, text) = refused(&asking(&format!("\"{escape}\"")));
        assert_eq!(status, 400, "{escape}: {text}");
        assert!(text.contains("surrogate") || text.contains("hex escape"), "{escape}: {text}");
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused_in_requests_and_in_advertisements() {
    for (member, copy) in [
        ("\"duration\": \"1h30m\"", "\"duration\": \"2h\""),
        ("\"cpu\": \"1500m\"", "\"cpu\": \"2\""),
        ("\"amount\": \"2.50\"", "\"amount\": \"2.50\""),
    ] {
        let twice = RESERVATION_REQUEST.replacen(member, &format!("{member}, {copy}"), 1);
        let (status, text) = refused(twice.as_bytes());
        assert_eq!(status, 422, "{text}");
        assert!(text.contains("duplicate field `"), "{text}");
    }
    for member in ["\"clusterID\": \"rome\"", "\"epoch\": 7", "\"memory\": \"250Gi\""] {
        let twice = ADVERTISEMENT.replacen(member, &format!("{member}, {member}"), 1);
        let text = read::<AdvertisementRequest>(&twice).unwrap_err().to_string();
        assert!(text.contains("duplicate field `"), "{text}");
    }
}

#[test]
fn a_name_that_is_written_with_an_escape_is_the_same_name() {
    let twice = RESERVATION_REQUEST.replacen(
        "\"duration\":",
        "\"dur\\u0061tion\": \"9h\", \"duration\":",
        1,
    );
    assert!(refused(twice.as_bytes()).1.contains("duplicate field `duration`"));
}

#[test]
fn a_label_that_is_there_twice_is_refused() {
    let twice = r#""region": "eu", "region": "us""#;
    let body = RESERVATION_REQUEST.replacen(r#""region": "eu""#, twice, 1);
    let (status, text) = refused(body.as_bytes());
    assert_eq!((status, text.as_str()), (422, "constraints.labels: duplicate label `region`"));
}

#[test]
fn nesting_is_limited_also_where_members_are_ignored() {
    // The deepest level is an array inside the object of the body.
    let nested = |levels: usize| {
        let value = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        ADVERTISEMENT.replacen('{', &format!("{{\"later\": {value},"), 1)
    };
    assert!(read::<AdvertisementRequest>(&nested(MAX_DEPTH - 1)).is_ok());
    for levels in [MAX_DEPTH, 100_000] {
        let error = read::<AdvertisementRequest>(&nested(levels)).unwrap_err();
        assert_eq!(error, BodyError::Unreadable(Unreadable::TooDeep));
    }
}

#[test]
fn brackets_inside_of_texts_do_not_nest() {
    let text = format!("\\\" {} \\\\", "[{".repeat(100));
    let body = ADVERTISEMENT.replacen('{', &format!("{{\"later\": \"{text}\","), 1);
    assert!(read::<AdvertisementRequest>(&body).is_ok());
}

#[test]
fn a_body_has_a_largest_length() {
    let padded = |length: usize| {
        let padding = " ".repeat(length - ADVERTISEMENT.len());
        format!("{ADVERTISEMENT}{padding}")
    };
    assert!(read::<AdvertisementRequest>(&padded(MAX_BODY_LENGTH)).is_ok());
    let error = read::<AdvertisementRequest>(&padded(MAX_BODY_LENGTH + 1)).unwrap_err();
    assert_eq!(code_of_body(&error), Code::TooLarge);
}

#[test]
fn an_error_repeats_little_of_what_was_sent_and_nothing_that_moves_a_cursor() {
    let long = "x".repeat(100_000);
    let text = read::<ReservationRequest>(&with_member(RESERVATION_REQUEST, "", &long, 1))
        .unwrap_err()
        .to_string();
    assert!(text.chars().count() < 1000, "{} characters", text.chars().count());
    let moving = with_member(RESERVATION_REQUEST, "", "a\u{1b}[2J\u{202e}b", json!(1));
    let problem = Problem::from(&read::<ReservationRequest>(&moving).unwrap_err());
    assert!(!problem.detail.chars().any(rear_engine::text::misleads), "{:?}", problem.detail);
    assert!(
        problem.detail.starts_with("a\u{fffd}[2J\u{fffd}b: unknown field"),
        "{}",
        problem.detail
    );
}

#[test]
fn what_breaks_off_is_unreadable_even_if_a_member_before_that_is_wrong() {
    let (status, text) = refused(br#"{"duratoin": "1h", "requestedResources": {"#);
    assert_eq!(status, 400, "{text}");
}

#[test]
fn other_things_than_objects_are_refused_as_a_whole() {
    for body in ["[]", "null", "1", "\"a\"", "true", r#"[{"cpu": "1", "memory": "1Gi"}]"#] {
        let (status, text) = refused(body.as_bytes());
        assert_eq!(status, 422, "{text}");
        assert!(
            text.starts_with("invalid type: ") && text.ends_with("expected an object"),
            "{text}"
        );
    }
}
