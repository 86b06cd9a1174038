//! One position has one text, and positions sort by incarnation first.

use rear_engine::{EventId, Position};

#[test]
fn a_position_is_read_as_it_is_printed() {
    for text in ["0.0", "1.0", "2.41", "18446744073709551615.18446744073709551615"] {
        assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
    }
    for bad in ["", "1", "1.", ".1", "1.2.3", "01.2", "1.02", "+1.2", "1.-2", "1. 2", "a.b", "1,2"]
    {
        assert!(bad.parse::<Position>().is_err(), "{bad:?}");
    }
    assert!("1.18446744073709551616".parse::<Position>().is_err());
}

#[test]
fn a_later_incarnation_comes_after_every_number_of_an_earlier_one() {
    let old = Position { incarnation: 1, number: u64::MAX };
    let new = Position::start_of(2);
    assert!(old < new && new < new.next().unwrap());
    assert_eq!(old.next(), None);
}

#[test]
fn an_event_has_one_name_and_names_sort_as_events_happen() {
    for text in ["1.0-0", "2.41-7", "1.18446744073709551615-4294967295"] {
        assert_eq!(text.parse::<EventId>().unwrap().to_string(), text);
    }
    for bad in ["", "1.2", "1.2-", "-1", "1-2", "1.2-03", "1.2-+3", "1.2-4294967296", "1.2-3-4"] {
        assert!(bad.parse::<EventId>().is_err(), "{bad:?}");
    }
    let id = |text: &str| text.parse::<EventId>().unwrap();
    assert!(id("1.9-4") < id("1.9-5") && id("1.9-5") < id("1.10-0") && id("1.10-0") < id("2.0-0"));
    assert!(id("1.9-5") < EventId::end_of("1.9".parse().unwrap()));
}
