//! Cursors, links and event ids have one text each.

use rear_api::page::{Cursor, next_link, next_of};
use rear_api::revision::EventId;
use rear_engine::testing::{cluster, id};
use rear_engine::{ClusterId, Position, ReservationId};

#[test]
fn a_cursor_is_read_as_it_is_printed() {
    let cursor = Cursor { incarnation: 3, after: id(42) };
    assert_eq!(cursor.to_string(), "3~rsv-0000000000000000000000000000002a");
    assert_eq!(cursor.to_string().parse(), Ok(cursor));
    let cursor = Cursor { incarnation: u64::MAX, after: cluster("rome.example") };
    assert_eq!(cursor.to_string().parse(), Ok(cursor));
}

#[test]
fn a_cursor_of_another_list_or_a_made_up_one_is_refused() {
    for bad in ["", "rome", "~rome", "1~", "1~Rome", "+1~rome", "01~rome", "-1~rome", "1~rome~x"] {
        assert!(bad.parse::<Cursor<ClusterId>>().is_err(), "{bad:?}");
    }
    assert!("1~rome".parse::<Cursor<ReservationId>>().is_err());
    assert!("18446744073709551616~rome".parse::<Cursor<ClusterId>>().is_err());
}

#[test]
fn a_link_leads_to_the_next_page() {
    let cursor = Cursor { incarnation: 1, after: cluster("rome") };
    let link = next_link("/api/v1/advertisements", &cursor);
    assert_eq!(link, "</api/v1/advertisements?cursor=1~rome>; rel=\"next\"");
    assert_eq!(next_of(&link), Some("/api/v1/advertisements?cursor=1~rome"));
}

#[test]
fn only_a_link_to_the_next_page_is_followed() {
    for other in ["", "/x", "</x>", "</x>; rel=\"prev\"", "</x; rel=\"next\"", "rel=\"next\""] {
        assert_eq!(next_of(other), None, "{other:?}");
    }
    assert_eq!(next_of("</x>; title=\"more\"; rel=next"), Some("/x"));
}

#[test]
fn the_id_of_an_event_is_read_as_it_is_printed() {
    let event = EventId { revision: Position { incarnation: 2, number: 41 }, place: 3 };
    assert_eq!(event.to_string(), "2.41-3");
    assert_eq!("2.41-3".parse(), Ok(event));
    for bad in
        ["", "2.41", "2.41-", "-3", "2.41-03", "2.41-+3", "2.041-3", "2.41-3-1", "2.41-4294967296"]
    {
        assert!(bad.parse::<EventId>().is_err(), "{bad:?}");
    }
}

#[test]
fn events_sort_as_they_happened() {
    let event = |text: &str| text.parse::<EventId>().unwrap();
    assert!(event("1.9-5") < event("1.10-0") && event("1.10-0") < event("1.10-1"));
    assert!(event("1.99-9") < event("2.0-0"));
}
