//! No bytes make a reader panic; what it accepts is sent in a form that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rear_api::advertisement::{AdvertisementAnswer, AdvertisementRequest};
use rear_api::body;
use rear_api::dry_run::DryRun;
use rear_api::event::EventData;
use rear_api::problem::Problem;
use rear_api::reservation::{Reservation, ReservationRequest};
use rear_engine::{ClusterId, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    if let Some(request) = sent_again::<ReservationRequest>(bytes) {
        ask_again(request);
    }
    if let Some(request) = sent_again::<AdvertisementRequest>(bytes) {
        advertise_again(request);
    }
    sent_again::<AdvertisementAnswer>(bytes);
    sent_again::<Vec<Reservation>>(bytes);
    sent_again::<DryRun>(bytes);
    sent_again::<EventData>(bytes);
    sent_again::<Problem>(bytes);
});

/// The body, if it is one; it must be the same after it was sent on.
fn sent_again<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    bytes: &[u8],
) -> Option<T> {
    let body: T = body::read(bytes).ok()?;
    let text = serde_json::to_vec(&body).expect("a body is always JSON");
    assert_eq!(body::read_answer::<T>(&text).as_ref(), Ok(&body));
    Some(body)
}

fn ask_again(request: ReservationRequest) {
    let caller: ClusterId = "rome".parse().expect("a cluster id");
    if let Ok(ask) = request.ask(&caller) {
        assert_eq!(ReservationRequest::from(&ask).ask(ask.requester()), Ok(ask));
    }
}

fn advertise_again(request: AdvertisementRequest) {
    let Ok(command) = request.into_command() else {
        return;
    };
    let Command::Advertise { cluster, advertisement, holding } = &command else {
        panic!("an advertisement became {command:?}");
    };
    let again = AdvertisementRequest::of(cluster, advertisement, holding.as_deref());
    assert_eq!(again.into_command(), Ok(command));
}
