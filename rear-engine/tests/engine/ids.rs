//! Names are parsed once and can never be wrong afterwards.

use rear_engine::id::{ClusterId, ClusterIdError, IdempotencyKey, ReservationId};
use rear_engine::labels::{Labels, LabelsError};
use rear_engine::text::{Line, LineError};

#[test]
fn a_cluster_id_is_a_dns_name() {
    for good in ["a", "rome", "rome-1", "fd32c7d2-7cc6-46e6-80aa-d3d5c835586c", "a.b-c.d", "1"] {
        assert_eq!(good.parse::<ClusterId>().unwrap().as_str(), good);
    }
    assert!("x".repeat(63).parse::<ClusterId>().is_ok());
}

#[test]
fn what_could_leave_a_folder_or_fool_an_eye_is_no_cluster_id() {
    use ClusterIdError::{Character, Length, Shape};
    for (bad, why) in [
        ("", Length),
        ("../x", Character),
        ("a/b", Character),
        ("Rome", Character),
        ("r\u{43e}me", Character),
        ("rome ", Character),
        ("rome\n", Character),
        ("rome_1", Character),
        ("..", Shape),
        (".a", Shape),
        ("a.", Shape),
        ("a..b", Shape),
        ("-a", Shape),
        ("a-", Shape),
        ("a.-b", Shape),
    ] {
        assert_eq!(bad.parse::<ClusterId>(), Err(why), "{bad:?}");
    }
    assert_eq!("x".repeat(64).parse::<ClusterId>(), Err(Length));
}

#[test]
fn a_reservation_id_has_one_text_and_sorts_by_it() {
    let early = ReservationId::from_bits(1 << 100);
    let late = ReservationId::from_bits((1 << 100) + 1);
    assert!(early < late && early.to_string() < late.to_string());
    assert_eq!(late.to_string().len(), 36);
    assert_eq!(late.to_string().parse(), Ok(late));
    assert_eq!(late.to_bits(), (1 << 100) + 1);
    for bad in ["", "rsv-", "rsv-1", &late.to_string().to_uppercase(), &format!("{late}0")] {
        assert!(bad.parse::<ReservationId>().is_err(), "{bad:?}");
    }
    assert!(format!("rsv-+{}", "0".repeat(31)).parse::<ReservationId>().is_err());
}

#[test]
fn an_idempotency_key_is_printable_and_bounded() {
    assert_eq!("3f0c-1 b".parse::<IdempotencyKey>().unwrap().as_str(), "3f0c-1 b");
    assert!("k".repeat(255).parse::<IdempotencyKey>().is_ok());
    for bad in ["", "a\nb", "caf\u{e9}", "\0"] {
        assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad:?}");
    }
    assert!("k".repeat(256).parse::<IdempotencyKey>().is_err());
}

#[test]
fn texts_for_people_cannot_break_out_of_their_line() {
    assert_eq!("Rome, second floor".parse::<Line>().unwrap().as_str(), "Rome, second floor");
    for bad in ["a\nb", "\u{1b}[31m", "a\u{202e}b", "a\u{2028}b", "\u{7f}", "a\u{200f}", "\u{2066}"]
    {
        assert_eq!(bad.parse::<Line>(), Err(LineError::Control), "{bad:?}");
    }
    assert!("x".repeat(1024).parse::<Line>().is_ok());
    assert_eq!("x".repeat(1025).parse::<Line>(), Err(LineError::TooLong));
}

#[test]
fn labels_are_bounded_in_number_and_length() {
    let with = |key: &str, value: &str| Labels::new([(key.to_owned(), value.to_owned())].into());
    assert!(with(&"k".repeat(317), &"v".repeat(256)).is_ok());
    assert_eq!(with("", "v"), Err(LabelsError::KeyLength));
    assert_eq!(with(&"k".repeat(318), "v"), Err(LabelsError::KeyLength));
    assert_eq!(with("k", &"v".repeat(257)), Err(LabelsError::ValueLength));
    assert_eq!(with("k\t", "v"), Err(LabelsError::Control));
    assert_eq!(with("k", "v\r"), Err(LabelsError::Control));
    let many =
        |count: usize| Labels::new((0..count).map(|i| (format!("k{i}"), String::new())).collect());
    assert_eq!(many(64).unwrap().len(), 64);
    assert!(many(0).unwrap().is_empty() && !many(1).unwrap().is_empty());
    assert_eq!(many(65), Err(LabelsError::TooMany));
    // Keys of two characters and no values; one of three with a value of two.
    assert_eq!(many(10).unwrap().bytes(), 20);
    assert_eq!(with("key", "v2").unwrap().bytes(), 5);
}
