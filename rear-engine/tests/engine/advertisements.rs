//! What replaces what, what is written, and what an advertisement may not do.

use rear_engine::advertisement::{Holding, Order};
use rear_engine::testing::{advertisement, ask, cluster, cost, labels, resources};
use rear_engine::{
    Advertisement, Change, Command, Duration, Fleet, Happening, Policy, Refusal, Timestamp,
    refreshment,
};

use super::stage::{Stage, happened, start};

fn at(seconds: i64) -> Timestamp {
    start().plus(Duration::from_seconds(seconds))
}

fn told_at(seconds: i64) -> Advertisement {
    advertisement("4", "4Gi", at(seconds))
}

fn counted(epoch: u64, sequence: u64) -> Advertisement {
    Advertisement { order: Some(Order { epoch, sequence }), ..told_at(0) }
}

fn allocated(stage: &mut Stage, cpu: &str, mut told: Advertisement) -> Result<(), Refusal> {
    told.allocated = resources(cpu, "1Gi");
    stage.advertise("a", told).map(drop)
}

#[test]
fn two_of_the_same_second_both_count() {
    let mut stage = Stage::new();
    allocated(&mut stage, "1", told_at(0)).unwrap();
    allocated(&mut stage, "2", told_at(0)).unwrap();
    assert_eq!(stage.available("a"), resources("2", "3Gi"));
}

#[test]
fn an_older_timestamp_is_refused_for_a_minute() {
    let mut stage = Stage::new();
    allocated(&mut stage, "1", told_at(100)).unwrap();
    stage.pass("1m");
    let refused = allocated(&mut stage, "2", told_at(99)).unwrap_err();
    assert_eq!(refused, Refusal::Outdated { kept: None });
    assert_eq!(stage.available("a"), resources("3", "3Gi"));
    // A clock that was set back must not lock a cluster out.
    stage.pass("1ns");
    allocated(&mut stage, "2", told_at(99)).unwrap();
}

#[test]
fn epoch_and_sequence_decide_alone() {
    let mut stage = Stage::new();
    allocated(&mut stage, "1", told_at(500)).unwrap();
    allocated(&mut stage, "1", counted(3, 10)).unwrap();
    for older in [counted(3, 9), counted(2, 99)] {
        let refused = allocated(&mut stage, "2", older).unwrap_err();
        assert_eq!(refused, Refusal::Outdated { kept: Some(Order { epoch: 3, sequence: 10 }) });
    }
    stage.pass("2h");
    assert!(allocated(&mut stage, "2", counted(3, 9)).is_err(), "time does not help an old copy");
    allocated(&mut stage, "2", counted(3, 10)).unwrap();
    allocated(&mut stage, "3", counted(3, 11)).unwrap();
    allocated(&mut stage, "1", counted(4, 0)).unwrap();
    // An agent that no longer counts is judged by its timestamp.
    let refused = allocated(&mut stage, "2", told_at(-1)).unwrap_err();
    assert_eq!(refused, Refusal::Outdated { kept: Some(Order { epoch: 4, sequence: 0 }) });
    allocated(&mut stage, "2", told_at(0)).unwrap();
}

#[test]
fn the_same_again_need_not_survive_a_restart_each_time() {
    let mut stage = Stage::new();
    stage.advertise("a", told_at(0)).unwrap();
    for (minutes, durable) in [("1m", false), ("59s", false), ("1s", true), ("1m", false)] {
        stage.pass(minutes);
        let decision = stage.advertise("a", told_at(0)).unwrap();
        assert_eq!(decision.is_durable(), durable, "after {minutes} more");
        assert!(decision.events.is_empty());
        assert!(matches!(decision.changes[..], [Change::Refreshed { .. }]));
    }
    // Freshness counts from the last one, durable or not.
    stage.pass("9m59s");
    stage.reserve(ask("r", resources("1", "1Gi")));
}

/// What is acknowledged without a decision is what the decision would have been.
#[test]
fn a_refreshment_is_what_would_be_decided_if_that_need_not_survive() {
    let mut stage = Stage::new();
    let id = cluster("a");
    let looked_at = |stage: &Stage, told: &Advertisement, holding: Option<&[Holding]>| {
        refreshment(&stage.fleet, &id, told, holding, stage.now)
    };
    assert_eq!(looked_at(&stage, &told_at(0), None), None, "a cluster that is not known");
    stage.advertise("a", counted(1, 5)).unwrap();
    assert_eq!(looked_at(&stage, &counted(1, 4), None), None, "older than what is kept");
    assert_eq!(looked_at(&stage, &counted(2, 0), None), None, "an agent that restarted");
    let mut other = counted(1, 6);
    other.allocated = resources("1", "1Gi");
    assert_eq!(looked_at(&stage, &other, None), None, "something new");
    // What is held is asked for only after a restore.
    for holding in [None, Some(&[][..])] {
        let change = looked_at(&stage, &counted(1, 6), holding);
        let decided = stage.advertise("a", counted(1, 6)).unwrap();
        assert_eq!(change.as_ref(), decided.changes.first());
    }
    stage.pass("2m");
    assert_eq!(looked_at(&stage, &counted(1, 7), None), None, "it is time to write it down");
    let mut restored = Stage::on(Fleet::restored(Policy::default(), 2, 1));
    restored.advertise("a", counted(1, 5)).unwrap();
    assert_eq!(looked_at(&restored, &counted(1, 6), Some(&[])), None, "what it holds counts");
    assert!(looked_at(&restored, &counted(1, 6), None).is_some());
}

#[test]
fn an_agent_that_restarted_is_remembered() {
    let mut stage = Stage::new();
    stage.advertise("a", counted(1, 5)).unwrap();
    assert!(!stage.advertise("a", counted(1, 6)).unwrap().is_durable());
    assert!(stage.advertise("a", counted(2, 0)).unwrap().is_durable());
    assert!(stage.advertise("a", counted(1, 7)).is_err());
}

#[test]
fn every_change_of_what_is_said_is_news() {
    let changed: [fn(&mut Advertisement); 7] = [
        |told| told.name = "Rome".parse().unwrap(),
        |told| told.capacity = resources("9", "9Gi"),
        |told| told.allocatable = resources("5", "5Gi"),
        |told| told.allocated = resources("1", "1Gi"),
        |told| told.cost = Some(cost("1", "1", "1", "EUR")),
        |told| told.labels = labels(&[("a", "b")]),
        |told| told.endpoint = Some("https://rome.example".parse().unwrap()),
    ];
    for change in changed {
        let mut stage = Stage::new();
        stage.advertise("a", told_at(0)).unwrap();
        let mut told = told_at(0);
        change(&mut told);
        let decision = stage.advertise("a", told).unwrap();
        assert_eq!(happened(&decision), [&Happening::Advertised]);
    }
}

#[test]
fn what_is_consumed_is_news_too() {
    let mut stage = Stage::new();
    let mut told = told_at(0);
    told.allocated = resources("1", "1Gi");
    stage.advertise("a", told.clone()).unwrap();
    let entries = [(cluster("q"), resources("1", "1Gi"))];
    told.consumed = rear_engine::advertisement::Consumed::new(entries).unwrap();
    assert_eq!(happened(&stage.advertise("a", told).unwrap()), [&Happening::Advertised]);
}

#[test]
fn a_stale_cluster_that_says_the_same_is_fresh_again() {
    let mut stage = Stage::new();
    stage.advertise("a", told_at(0)).unwrap();
    stage.pass("10m");
    let marked = stage.act(Command::MarkStale { limit: 10 }).unwrap();
    assert_eq!(happened(&marked), [&Happening::BecameStale]);
    let again = stage.act(Command::MarkStale { limit: 10 }).unwrap();
    assert!(again.changes.is_empty(), "marked once");
    let decision = stage.advertise("a", told_at(0)).unwrap();
    assert_eq!(happened(&decision), [&Happening::Advertised, &Happening::BecameFresh]);
}

#[test]
fn only_so_many_clusters_are_marked_at_once() {
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.advertise(name, told_at(0)).unwrap();
    }
    stage.pass("9m59.999999999s");
    assert_eq!(stage.act(Command::MarkStale { limit: 2 }).unwrap().changes.len(), 0);
    assert_eq!(stage.fleet.next_due(), Some(at(600)));
    stage.pass("1ns");
    assert_eq!(stage.act(Command::MarkStale { limit: 2 }).unwrap().changes.len(), 2);
    assert_eq!(stage.act(Command::MarkStale { limit: 2 }).unwrap().changes.len(), 1);
    assert_eq!(stage.fleet.next_due(), None);
}

#[test]
fn a_refreshed_cluster_is_not_marked() {
    let mut stage = Stage::new();
    stage.advertise("a", told_at(0)).unwrap();
    stage.pass("9m");
    stage.advertise("a", told_at(0)).unwrap();
    stage.pass("9m");
    assert!(stage.act(Command::MarkStale { limit: 10 }).unwrap().changes.is_empty());
    assert_eq!(stage.fleet.next_due(), Some(at(540 + 600)));
}

#[test]
fn holding_is_ignored_when_nothing_is_being_recovered() {
    let mut stage = Stage::new();
    let held = Holding {
        reservation: rear_engine::testing::id(9),
        ask: ask("q", resources("1", "1Gi")),
        expires_at: None,
    };
    stage.advertise_holding("a", told_at(0), Some(vec![held])).unwrap();
    assert_eq!(stage.available("a"), resources("4", "4Gi"));
    assert!(stage.fleet.reservation(rear_engine::testing::id(9)).is_none());
}

#[test]
fn an_old_copy_is_still_known_after_an_advertisement_that_does_not_count() {
    let mut stage = Stage::new();
    allocated(&mut stage, "1", counted(5, 1)).unwrap();
    allocated(&mut stage, "2", told_at(1)).unwrap();
    let refused = allocated(&mut stage, "3", counted(3, 99)).unwrap_err();
    assert_eq!(refused, Refusal::Outdated { kept: Some(Order { epoch: 5, sequence: 1 }) });
    allocated(&mut stage, "3", counted(6, 0)).unwrap();
}
