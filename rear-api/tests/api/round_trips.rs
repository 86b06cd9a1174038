//! Whatever is sent is received as it was meant, in both directions, and no bytes at all make a reader panic.

use proptest::option;
use proptest::prelude::*;
use rear_api::advertisement::{AdvertisementAnswer, AdvertisementRequest};
use rear_api::body;
use rear_api::dry_run::DryRun;
use rear_api::problem::Problem;
use rear_api::reservation::{RejectRequest, RenewRequest, ReservationRequest};
use rear_engine::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::any_body::{
    advertisement, advertisement_request, candidate, event, few, maybe_text, problem, reservation,
    reservation_request, text,
};
use crate::any_value;

/// Sent as text and read again; also from a sender that knows more, where that is allowed.
fn again<T: Serialize + DeserializeOwned>(sent: &T) -> T {
    body::read_answer(&serde_json::to_vec(sent).unwrap()).unwrap()
}

fn again_with_more<T: Serialize + DeserializeOwned>(sent: &T) -> T {
    let text = serde_json::to_string(sent).unwrap();
    let more = text.replacen('{', r#"{"laterMember":{"cpu":[null,{"a":1}]},"#, 1);
    body::read_answer(more.as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_sent(
        advertisement in advertisement_request(),
        reservation in reservation_request(),
        texts in [text().boxed(), text().boxed()],
    ) {
        prop_assert_eq!(&again(&advertisement), &advertisement);
        prop_assert_eq!(&again_with_more(&advertisement), &advertisement);
        prop_assert_eq!(&again(&reservation), &reservation);
        let [expires_at, reason] = texts;
        let renew = RenewRequest { expires_at };
        prop_assert_eq!(&again(&renew), &renew);
        let reject = RejectRequest { reason };
        prop_assert_eq!(&again(&reject), &reject);
    }

    #[test]
    fn answers_are_read_as_they_were_sent_also_with_members_of_a_later_version(
        advertisement in advertisement(),
        provider_instructions in few(reservation()),
        candidates in prop::collection::vec(candidate(), 0..3),
        target in maybe_text(),
        revision in text(),
        problem in problem(),
        event in event(),
    ) {
        let answer = AdvertisementAnswer { advertisement, provider_instructions };
        prop_assert_eq!(&again(&answer), &answer);
        prop_assert_eq!(&again_with_more(&answer), &answer);
        for reservation in answer.provider_instructions.iter().flatten() {
            prop_assert_eq!(&again_with_more(reservation), reservation);
        }
        for candidate in &candidates {
            prop_assert_eq!(&again_with_more(candidate), candidate);
        }
        let dry_run = DryRun { target, revision, candidates };
        prop_assert_eq!(&again(&dry_run), &dry_run);
        prop_assert_eq!(&again_with_more(&problem), &problem);
        prop_assert_eq!(&again_with_more(&event), &event);
    }

    #[test]
    fn an_advertisement_means_the_same_after_the_wire(
        cluster in any_value::cluster(),
        told in any_value::advertisement(),
        held in option::of(prop::collection::vec(any_value::holding(), 0..3)),
    ) {
        let sent = AdvertisementRequest::of(&cluster, &told, held.as_deref());
        let received = again(&sent).into_command();
        let meant = Command::Advertise { cluster, advertisement: Box::new(told), holding: held };
        prop_assert_eq!(received, Ok(meant));
    }

    #[test]
    fn an_ask_means_the_same_after_the_wire(ask in any_value::ask()) {
        let received = again(&ReservationRequest::from(&ask)).ask(ask.requester());
        prop_assert_eq!(received, Ok(ask));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, text in "[\\[\\]{}\",:a-z0-9 ]{0,60}") {
        for body in [bytes.as_slice(), text.as_bytes()] {
            if let Ok(request) = body::read::<ReservationRequest>(body) {
                let _ = request.ask(&"rome".parse().unwrap());
            }
            if let Ok(request) = body::read::<AdvertisementRequest>(body) {
                let _ = request.into_command();
            }
            let _ = body::read_answer::<Problem>(body);
            let _ = body::read_answer::<DryRun>(body);
        }
    }
}
