//! No text of a path, a query, a header or a member makes its parser panic; what is accepted is printed in a form that
//! means the same.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use rear_api::event::By;
use rear_api::page::{next_link, next_of};
use rear_api::reservation::Role;
use rear_api::{moment, problem};
use rear_engine::price::{Currency, Price, Rate};
use rear_engine::text::Line;
use rear_engine::{ClusterId, IdempotencyKey, ReservationId};
use rear_store::view::Cursor;
use rear_store::{EventId, Position};

fuzz_target!(|text: &str| {
    printed_again::<ClusterId>(text);
    printed_again::<ReservationId>(text);
    printed_again::<Line>(text);
    printed_again::<Position>(text);
    printed_again::<EventId>(text);
    printed_again::<Cursor>(text);
    printed_again::<By>(text);
    printed_again::<problem::Code>(text);
    printed_again::<Currency>(text);
    printed_again::<Rate>(text);
    printed_again::<Price>(text);
    let _: Result<IdempotencyKey, _> = text.parse();
    if let Ok(role) = text.parse::<Role>() {
        assert_eq!(role.name().parse(), Ok(role));
    }
    if let Ok(at) = moment::read(text) {
        assert_eq!(moment::read(&moment::text(at)), Ok(at), "{text}");
    }
    if let Some(next) = next_of(text) {
        assert!(text.contains(next));
    }
    if let Ok(cursor) = text.parse::<Cursor>()
        && !text.contains(['>', '<'])
    {
        let link = next_link("/api/v1/reservations", &cursor);
        assert_eq!(next_of(&link), Some(&*format!("/api/v1/reservations?cursor={cursor}")));
    }
});

fn printed_again<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug,
{
    if let Ok(value) = text.parse::<T>() {
        let printed = value.to_string();
        let again: T = printed.parse().expect("what is printed can be read");
        assert_eq!(again, value, "{text} was printed as {printed}");
    }
}
