//! A refusal says for each cluster what was missing, the closest first, and never too much.

use rear_engine::refusal::MAX_OBSTACLES;
use rear_engine::testing::fleets::{self, Load};
use rear_engine::testing::{advertisement, ask, cluster, of_size, resources};
use rear_engine::{Command, Reason, Refusal, Resources, Strategy, decide};

use super::stage::{Stage, of, operator, reasons, start};

#[test]
fn the_closest_come_first_whatever_their_size() {
    let mut stage = Stage::new();
    // Of 10 cores and 10 GiB: 90 % of the scarcest on `near`, 50 % on `lopsided`, 10 % on `far`.
    stage.idle("far", "1", "100Gi").idle("near", "9", "10Gi").idle("lopsided", "100", "5Gi");
    let refused = stage.refused(ask("r", resources("10", "10Gi")));
    assert_eq!(
        reasons(&refused),
        [
            "near needs 10 cpu, 9 free",
            "lopsided needs 10Gi memory, 5Gi free",
            "far needs 10 cpu, 1 free",
        ]
    );
}

#[test]
fn reasons_come_in_a_fixed_order_and_the_requester_last() {
    let mut stage = Stage::new();
    stage.idle("old", "1", "1Gi");
    stage.pass("10m");
    stage.act(Command::MarkStale { limit: 10 }).unwrap();
    let mut broken = advertisement("1", "1Gi", stage.now);
    broken.allocated = resources("2", "1Gi");
    stage.advertise("broken", broken).unwrap();
    stage.idle("asker", "64", "64Gi").idle("tiny", "1", "1Gi");
    let refused = stage.refused(ask("asker", resources("2", "2Gi")));
    assert_eq!(
        reasons(&refused),
        [
            "tiny needs 2 cpu, 1 free",
            "broken is overcommitted",
            "old has not advertised for too long",
            "asker is the requester itself",
        ]
    );
    assert_eq!(refused.considered, 4);
    let codes: Vec<&str> = refused.candidates.iter().map(|found| found.reason.code()).collect();
    assert_eq!(codes, ["insufficient", "overcommitted", "stale", "own-cluster"]);
}

#[test]
fn at_most_a_hundred_clusters_are_named_and_they_are_the_closest() {
    let fleet = fleets::fleet(1000, Load::Mixed, Strategy::Headroom, start());
    let wanted = resources("600", "1Gi");
    let reserve = Command::Reserve {
        id: rear_engine::testing::id(1),
        ask: Box::new(ask("r", wanted)),
        key: None,
        by: of("r"),
    };
    let Err(Refusal::NoRoom(refused)) = decide(&fleet, reserve, start()) else {
        panic!("nobody has 600 cores")
    };
    assert_eq!((refused.candidates.len(), refused.considered), (MAX_OBSTACLES, 1000));
    let free = |reason: &Reason| match reason {
        Reason::Lacks { available, .. } => *available,
        other => panic!("{other}"),
    };
    let listed: Vec<u64> = refused.candidates.iter().map(|found| free(&found.reason)).collect();
    let mut all: Vec<u64> =
        fleet.clusters().map(|cluster| cluster.available().unwrap().shown().amounts()[0]).collect();
    all.sort_unstable_by_key(|&cores| std::cmp::Reverse(cores));
    assert_eq!(listed, all[..MAX_OBSTACLES]);
}

#[test]
fn equally_close_clusters_are_named_in_order_of_their_ids() {
    let mut stage = Stage::new();
    for number in (0..150).rev() {
        // Two looks, so that rows and their members are mixed.
        let size = resources("1", &format!("{}Gi", 64 + number % 2));
        stage.advertise(&format!("c{number:03}"), of_size(size, stage.now)).unwrap();
    }
    let refused = stage.refused(ask("r", resources("2", "1Gi")));
    let expected: Vec<String> = (0..100).map(|number| format!("c{number:03}")).collect();
    let listed: Vec<&str> = refused.candidates.iter().map(|found| found.cluster.as_str()).collect();
    assert_eq!(listed, expected);
}

#[test]
fn so_are_those_that_are_as_close_and_have_more_of_something_else() {
    for backwards in [false, true] {
        let mut stage = Stage::new();
        for number in 0..300 {
            let more = if backwards { 300 - number } else { number };
            stage.idle(&format!("c{number:03}"), "9", &format!("{}Gi", 10 + more));
        }
        let refused = stage.refused(ask("r", resources("10", "10Gi")));
        let named = refused.candidates.iter().map(|found| found.cluster.to_string());
        let expected = (0..MAX_OBSTACLES).map(|number| format!("c{number:03}"));
        assert!(named.eq(expected), "{:?}", reasons(&refused));
    }
}

#[test]
fn every_refusal_says_whether_waiting_helps() {
    let mut stage = Stage::new();
    stage.idle("a", "1", "1Gi");
    let refused = stage.try_reserve(ask("r", resources("2", "1Gi"))).unwrap_err();
    assert!(refused.may_pass_later());
    let unknown = Command::Forget { cluster: cluster("x"), by: operator() };
    let refused = stage.act(unknown).unwrap_err();
    assert!(!refused.may_pass_later());
    assert_eq!(refused.to_string(), "there is no cluster x");
}

#[test]
fn a_request_for_more_than_can_be_counted_is_refused_like_any_other() {
    let mut stage = Stage::new();
    stage.idle("a", "1", "1Gi");
    let most = i64::MAX.cast_unsigned();
    let all = Resources::from_amounts([most; 4]).unwrap();
    assert_eq!(stage.refused(ask("r", all)).candidates.len(), 1);
}
