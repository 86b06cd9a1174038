//! What the witness must notice, and what it must not take for broken.

use std::time::Duration;

use rear_agent_sdk::communicator::{AdvertisementRequest, Reservation, ReservationRequest, Role};
use rear_agent_sdk::request;
use rear_engine::Resources;
use tokio::time::Instant;

use super::{Broken, Side, Witness};

fn offer(sequence: u64, allocatable: &str, allocated: &str) -> AdvertisementRequest {
    let amounts = |cpu: &str| format!(r#"{{"cpu": "{cpu}", "memory": "64Gi"}}"#);
    let body = format!(
        r#"{{"clusterID": "rome", "timestamp": "2026-01-02T15:04:05Z", "epoch": 1, "sequence": {sequence},
            "resources": {{"capacity": {all}, "allocatable": {all},
                "allocated": {{"cpu": "{allocated}", "memory": "0"}}}},
            "consumed": [{{"requesterID": "paris", "cpu": "1", "memory": "0"}}]}}"#,
        all = amounts(allocatable),
    );
    rear_api::body::read(body.as_bytes()).unwrap()
}

fn made(id: &str, cpu: &str, expires_at: &str) -> Reservation {
    let body = format!(
        r#"{{"id": "{id}", "requesterID": "paris", "targetClusterID": "rome",
            "requestedResources": {{"cpu": "{cpu}", "memory": "1Gi"}},
            "status": {{"phase": "Reserved", "expiresAt": "{expires_at}"}}}}"#
    );
    rear_api::body::read_answer(body.as_bytes()).unwrap()
}

const LATER: &str = "2099-01-01T00:00:00Z";
const BEFORE: &str = "2001-01-01T00:00:00Z";

/// A cluster that offers four cores beside its own load, and its broker's answers.
struct Stage {
    witness: Witness,
}

impl Stage {
    fn new() -> Self {
        let witness = Witness::default();
        // Five, of which two are allocated, of which one is used by a borrower.
        let first = offer(1, "5", "2");
        witness.offers(&first);
        witness.offered(&first);
        Self { witness }
    }

    fn grant(&self, id: &str, cpu: &str) -> Reservation {
        let (asked, made): (ReservationRequest, _) = (request(cpu, "1Gi"), made(id, cpu, LATER));
        self.witness.granted(&asked, &made, Instant::now());
        made
    }

    fn tell(&self, role: Role, told: &Reservation) {
        let whose = match role {
            Role::Requester => "paris",
            Role::Provider => "rome",
        };
        self.witness.told(role, &whose.parse().unwrap(), told);
    }

    fn tell_both(&self, told: &Reservation) {
        self.tell(Role::Requester, told);
        self.tell(Role::Provider, told);
    }

    fn broken(&self) -> Vec<Broken> {
        let mut broken = self.witness.report().broken;
        broken.extend(self.witness.disagreements());
        broken
    }
}

#[test]
fn a_promise_that_is_told_released_and_given_back_is_in_order() {
    let stage = Stage::new();
    let one = stage.grant("rsv-1", "4");
    stage.tell_both(&one);
    assert_eq!(stage.broken(), []);
    stage.witness.ending("rsv-1");
    stage.witness.given_back(Role::Provider, "rsv-1");
    stage.witness.given_back(Role::Requester, "rsv-1");
    // What ended has room for another.
    stage.tell_both(&stage.grant("rsv-2", "4"));
    assert_eq!(stage.broken(), []);
}

#[test]
fn more_than_was_offered_is_noticed() {
    let stage = Stage::new();
    stage.tell_both(&stage.grant("rsv-1", "3"));
    stage.tell_both(&stage.grant("rsv-2", "1001m"));
    let broken = stage.broken();
    let [Broken::BeyondOffer { id, room, promised, .. }] = &broken[..] else {
        panic!("{broken:?}")
    };
    let amounts = |cpu, memory| Resources::parse(cpu, memory, None, None).unwrap();
    assert_eq!(id, "rsv-2");
    assert_eq!((*room, *promised), (amounts("4", "64Gi"), amounts("4001m", "2Gi")));
}

#[test]
fn an_offer_counts_until_a_later_one_was_answered() {
    let stage = Stage::new();
    let less = offer(2, "5", "5");
    stage.witness.offers(&less);
    stage.tell_both(&stage.grant("rsv-1", "2"));
    assert_eq!(stage.broken(), []);
    stage.witness.offered(&less);
    std::thread::sleep(Duration::from_millis(1));
    stage.tell_both(&stage.grant("rsv-2", "1"));
    assert!(matches!(stage.broken()[..], [Broken::BeyondOffer { .. }]), "{:?}", stage.broken());
}

#[test]
fn what_may_have_ended_before_is_not_counted() {
    let stage = Stage::new();
    stage.tell_both(&stage.grant("rsv-1", "4"));
    stage.witness.ending("rsv-1");
    stage.tell_both(&stage.grant("rsv-2", "4"));
    stage.witness.given_back(Role::Provider, "rsv-1");
    stage.witness.given_back(Role::Requester, "rsv-1");
    assert_eq!(stage.broken(), []);
}

#[test]
fn another_amount_than_asked_or_told_is_noticed() {
    let stage = Stage::new();
    stage.witness.granted(&request("1", "1Gi"), &made("rsv-1", "2", LATER), Instant::now());
    stage.tell(Role::Requester, &made("rsv-1", "2", LATER));
    stage.tell(Role::Provider, &made("rsv-1", "1", LATER));
    let broken = stage.broken();
    let [Broken::OtherThanAsked { .. }, Broken::SidesDiffer { side, differs, .. }] = &broken[..]
    else {
        panic!("{broken:?}")
    };
    assert_eq!((*side, *differs), (Side::Provider, "amount"));
}

#[test]
fn a_side_that_was_not_told_is_noticed() {
    let stage = Stage::new();
    let one = stage.grant("rsv-1", "1");
    stage.tell(Role::Requester, &one);
    let id = || "rsv-1".to_owned();
    assert_eq!(stage.broken(), [Broken::NotTold { id: id(), side: Side::Provider }]);
    stage.tell(Role::Provider, &one);
    stage.witness.ending("rsv-1");
    stage.witness.given_back(Role::Provider, "rsv-1");
    assert_eq!(stage.broken(), [Broken::NotGivenBack { id: id(), side: Side::Requester }]);
}

#[test]
fn a_promise_that_nobody_was_granted_is_noticed() {
    let stage = Stage::new();
    stage.tell(Role::Provider, &made("rsv-1", "1", LATER));
    let expected = Broken::NobodyAsked { id: "rsv-1".to_owned(), side: Side::Provider };
    assert_eq!(stage.broken(), [expected]);
}

#[test]
fn what_is_taken_away_before_its_time_is_noticed_and_what_expires_is_not() {
    let stage = Stage::new();
    stage.tell_both(&stage.grant("rsv-1", "1"));
    stage.witness.given_back(Role::Requester, "rsv-1");
    let id = "rsv-1".to_owned();
    assert_eq!(stage.broken()[0], Broken::TakenAway { id, side: Side::Requester });
    let stage = Stage::new();
    let short = made("rsv-1", "1", BEFORE);
    stage.witness.granted(&request("1", "1Gi"), &short, Instant::now());
    stage.tell_both(&short);
    stage.witness.given_back(Role::Requester, "rsv-1");
    stage.witness.given_back(Role::Provider, "rsv-1");
    assert_eq!(stage.broken(), []);
}
