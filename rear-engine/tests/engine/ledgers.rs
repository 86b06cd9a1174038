//! The arithmetic of promises: exact, per requester, in one place.

use rear_engine::advertisement::{Consumed, ConsumedError};
use rear_engine::ledger::{Ledger, LedgerError};
use rear_engine::quantity::QuantityError;
use rear_engine::resources::ResourcesError;
use rear_engine::testing::{advertisement, all_resources, cluster, resources};
use rear_engine::{Advertisement, Dimension, Refusal, Resources};

use super::stage::{Stage, start};

fn using(allocated: Resources, consumed: &[(&str, Resources)]) -> Advertisement {
    let mut told = advertisement("10", "10Gi", start());
    told.allocated = allocated;
    let entries = consumed.iter().map(|(name, amount)| (cluster(name), *amount));
    told.consumed = Consumed::new(entries).unwrap();
    told
}

fn left(ledger: &Ledger, told: &Advertisement) -> (i64, i64) {
    let left = ledger.available(told);
    (left.get(Dimension::Cpu), left.get(Dimension::Memory) >> 30)
}

#[test]
fn consumption_counts_only_against_the_promises_of_the_same_requester() {
    let mut ledger = Ledger::default();
    ledger.hold(&cluster("p"), resources("2", "2Gi"), Resources::NONE).unwrap();
    ledger.hold(&cluster("q"), resources("3", "3Gi"), Resources::NONE).unwrap();
    let told = using(resources("4", "4Gi"), &[("p", resources("4", "1Gi"))]);
    ledger.recount(&told.consumed);
    // 10 − 4 − max(0, 2 − 4) − 3, and 10 − 4 − (2 − 1) − 3.
    assert_eq!(left(&ledger, &told), (3000, 2));
    assert_eq!(ledger.total(), resources("5", "5Gi"));
    assert_eq!(ledger.reserved_for(&cluster("p")), resources("2", "2Gi"));
    let mut accounts: Vec<_> = ledger.accounts().collect();
    accounts.sort_by_key(|(requester, _)| *requester);
    let (p, q) = (cluster("p"), cluster("q"));
    assert_eq!(accounts, [(&p, resources("2", "2Gi")), (&q, resources("3", "3Gi"))]);
}

#[test]
fn a_promise_to_someone_who_already_uses_more_takes_nothing_more() {
    let mut ledger = Ledger::default();
    let told = using(resources("4", "4Gi"), &[("p", resources("4", "4Gi"))]);
    let consumed = told.consumed.by(&cluster("p"));
    ledger.hold(&cluster("p"), resources("3", "1Gi"), consumed).unwrap();
    assert_eq!(left(&ledger, &told), (6000, 6));
    ledger.hold(&cluster("p"), resources("3", "1Gi"), consumed).unwrap();
    assert_eq!(left(&ledger, &told), (4000, 6));
    ledger.give_back(&cluster("p"), resources("3", "1Gi")).unwrap();
    assert_eq!(left(&ledger, &told), (6000, 6));
    ledger.give_back(&cluster("p"), resources("3", "1Gi")).unwrap();
    assert_eq!(ledger.total(), Resources::NONE);
    assert_eq!(ledger.accounts().count(), 0);
}

#[test]
fn more_than_was_promised_cannot_be_given_back() {
    let mut ledger = Ledger::default();
    let one = resources("1", "1Gi");
    ledger.hold(&cluster("p"), one, Resources::NONE).unwrap();
    ledger.hold(&cluster("q"), one, Resources::NONE).unwrap();
    let two = resources("2", "2Gi");
    assert_eq!(ledger.give_back(&cluster("p"), two), Err(LedgerError::Underflow));
    assert_eq!(ledger.give_back(&cluster("x"), one), Err(LedgerError::Underflow));
    assert_eq!(ledger.total(), two);
    ledger.give_back(&cluster("p"), one).unwrap();
    assert_eq!(ledger.give_back(&cluster("p"), one), Err(LedgerError::Underflow));
    assert_eq!(ledger.reserved_for(&cluster("q")), one);
}

#[test]
fn sums_that_do_not_fit_are_refused_and_change_nothing() {
    let mut ledger = Ledger::default();
    let most = Resources::from_amounts([i64::MAX.cast_unsigned(), 1, 1, 1]).unwrap();
    ledger.hold(&cluster("p"), most, Resources::NONE).unwrap();
    assert_eq!(
        ledger.hold(&cluster("q"), resources("1m", "1"), Resources::NONE),
        Err(LedgerError::Overflow)
    );
    assert_eq!(ledger.total(), most);
    assert_eq!(ledger.reserved_for(&cluster("q")), Resources::NONE);
    let told = using(resources("10", "0"), &[]);
    let left = ledger.available(&told);
    assert!(left.is_overcommitted());
    assert_eq!(left.get(Dimension::Cpu), -i64::MAX);
    assert_eq!(left.shown().get(Dimension::Cpu), 0);
}

#[test]
fn reported_consumption_cannot_exceed_what_is_allocated() {
    let report = |entries: &[(&str, Resources)]| {
        let mut told = advertisement("10", "10Gi", start());
        told.allocated = all_resources("4", "4Gi", "1", "4Gi");
        let entries = entries.iter().map(|(name, amount)| (cluster(name), *amount));
        told.consumed = Consumed::new(entries).unwrap();
        Stage::new().advertise("a", told).map(drop)
    };
    let two = resources("2", "2Gi");
    assert_eq!(report(&[("p", two), ("q", two)]), Ok(()));
    let beyond = Refusal::ConsumedBeyondAllocated { dimension: Dimension::Cpu, allocated: 4000 };
    assert_eq!(report(&[("p", two), ("q", two), ("r", resources("1m", "0"))]), Err(beyond));
    let gpus = report(&[("p", all_resources("0", "0", "2", "0"))]).unwrap_err();
    assert_eq!(gpus.to_string(), "consumed gpu exceeds what is allocated (1)");
    assert!(!gpus.may_pass_later());
}

#[test]
fn a_report_of_consumption_names_each_requester_once() {
    let nothing = |i: usize| (cluster(&format!("c{i}")), Resources::NONE);
    let twice = [nothing(1), nothing(1)];
    assert_eq!(Consumed::new(twice), Err(ConsumedError::Repeated(cluster("c1"))));
    assert_eq!(Consumed::new((0..10_001).map(nothing)), Err(ConsumedError::TooMany));
    assert_eq!(Consumed::new((0..10_000).map(nothing)).unwrap().iter().count(), 10_000);
}

#[test]
fn amounts_are_added_and_subtracted_with_checks() {
    let a = all_resources("1", "1Gi", "1", "1Gi");
    assert_eq!(a.checked_add(a), Some(all_resources("2", "2Gi", "2", "2Gi")));
    assert_eq!(a.checked_sub(a), Some(Resources::NONE));
    assert_eq!(Resources::NONE.checked_sub(a), None);
    assert_eq!(resources("1", "2Gi").saturating_sub(resources("2", "1Gi")), resources("0", "1Gi"));
    let most = Resources::from_amounts([i64::MAX.cast_unsigned(); 4]).unwrap();
    assert_eq!(most.checked_add(resources("1m", "0")), None);
    let beyond = [0, 0, 1 << 63, 0];
    assert_eq!(
        Resources::from_amounts(beyond),
        Err(ResourcesError { dimension: Dimension::Gpu, problem: QuantityError::TooLarge })
    );
    let bad = Resources::parse("1", "-1", None, None).unwrap_err();
    assert_eq!(bad.to_string(), "memory: the quantity is negative where an amount is meant");
    let shown = all_resources("1500m", "1Gi", "2", "10Gi").to_string();
    assert_eq!(shown, "cpu 1500m, memory 1Gi, gpu 2, storage 10Gi");
    assert_eq!(resources("1", "1Gi").to_string(), "cpu 1, memory 1Gi");
    assert!(Resources::NONE.is_none() && !a.is_none());
}
