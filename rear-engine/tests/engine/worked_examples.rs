//! The worked examples of the documents that asked for this system.

use rear_engine::place::score::displayed;
use rear_engine::policy::Weights;
use rear_engine::testing::{advertisement, ask, cluster, resources};
use rear_engine::{Dimension, Happening};

use super::stage::{Stage, happened, provider, reasons};

/// 8950m are free; 3 and 5 cores are granted, 2 more are not.
#[test]
fn three_reservations_on_8950_millicores() {
    let mut stage = Stage::new();
    let mut local = advertisement("10", "8025424Ki", stage.now);
    local.allocated = resources("1050m", "418Mi");
    stage.advertise("local", local).unwrap();
    assert_eq!(stage.free("local", Dimension::Cpu), "8950m");

    stage.reserve(ask("team", resources("3", "1Gi")));
    assert_eq!(stage.free("local", Dimension::Cpu), "5950m");
    stage.reserve(ask("team", resources("5", "1Gi")));
    assert_eq!(stage.free("local", Dimension::Cpu), "950m");

    let refused = stage.refused(ask("team", resources("2", "1Gi")));
    assert_eq!(reasons(&refused), ["local needs 2 cpu, 950m free"]);
    assert_eq!(stage.free("local", Dimension::Cpu), "950m");
    assert_eq!(stage.reserved("local"), resources("8", "2Gi"));
}

/// The example advertisement: its printed score of 61.25 does not follow from its own formula.
#[test]
fn the_example_advertisement_scores_52_16() {
    let mut stage = Stage::new();
    let mut local = advertisement("10", "8025424Ki", stage.now);
    local.allocated = resources("1050m", "233728Ki");
    stage.advertise("local", local).unwrap();
    stage.reserve(ask("team", resources("3", "4Gi")));
    assert_eq!(stage.free("local", Dimension::Cpu), "5950m");
    assert_eq!(stage.free("local", Dimension::Memory), "3597392Ki");
    let local = stage.fleet.cluster(&cluster("local")).unwrap();
    assert_eq!(displayed(local, Weights::default()).unwrap().to_string(), "52.16");
}

/// Three equal providers with 6, 3 and 0 pods of 500m/256Mi.
fn three_providers() -> Stage {
    let mut stage = Stage::new();
    for (name, pods) in [("full", 6), ("half", 3), ("idle", 0)] {
        let mut provider = advertisement("4", "4Gi", stage.now);
        let used = format!("{}m", pods * 500);
        provider.allocated = resources(&used, &format!("{}Mi", pods * 256));
        stage.advertise(name, provider).unwrap();
    }
    stage
}

#[test]
fn small_requests_go_to_the_empty_provider() {
    for (cpu, memory) in [("200m", "128Mi"), ("1", "512Mi")] {
        let mut stage = three_providers();
        let granted = stage.reserve(ask("requester", resources(cpu, memory)));
        assert_eq!(provider(&granted).as_str(), "idle", "{cpu}/{memory}");
    }
}

#[test]
fn a_larger_request_does_not_go_to_the_fullest() {
    let mut stage = three_providers();
    let granted = stage.reserve(ask("requester", resources("2", "1Gi")));
    assert_ne!(provider(&granted).as_str(), "full");
}

#[test]
fn two_in_a_row_see_each_others_lock() {
    let mut stage = three_providers();
    let first = stage.reserve(ask("requester", resources("1", "512Mi")));
    let before = stage.available(provider(&first).as_str());
    let second = stage.reserve(ask("requester", resources("1", "512Mi")));
    assert_eq!((provider(&first).as_str(), provider(&second).as_str()), ("idle", "idle"));
    let after = stage.available("idle");
    assert_eq!(before.checked_sub(resources("1", "512Mi")), Some(after));
    // The third sees both: half of the idle one is gone, as much as is gone of the other.
    let third = stage.reserve(ask("requester", resources("1", "512Mi")));
    assert_eq!(provider(&third).as_str(), "half");
}

#[test]
fn what_nobody_has_is_refused_with_all_three_reasons() {
    let mut stage = three_providers();
    let refused = stage.refused(ask("requester", resources("100", "500Gi")));
    assert_eq!(
        reasons(&refused),
        [
            "idle needs 100 cpu, 4 free",
            "half needs 100 cpu, 2500m free",
            "full needs 100 cpu, 1 free",
        ]
    );
    assert_eq!(
        refused.to_string(),
        "none of 3 clusters fits; the closest: idle needs 100 cpu, 4 free"
    );
}

/// Available = Allocatable − Allocated − Reserved, and a borrowed core that is used is not counted twice.
#[test]
fn what_is_consumed_is_not_counted_twice() {
    let mut stage = Stage::new();
    stage.idle("provider", "10", "10Gi");
    stage.reserve(ask("borrower", resources("4", "4Gi")));
    assert_eq!(stage.available("provider"), resources("6", "6Gi"));

    // The borrower's pods start: the provider now reports them as allocated.
    let mut used = advertisement("10", "10Gi", stage.now);
    used.allocated = resources("4", "4Gi");
    let mut told = used.clone();
    let consumed = [(cluster("borrower"), resources("4", "4Gi"))];
    told.consumed = rear_engine::advertisement::Consumed::new(consumed).unwrap();
    stage.advertise("provider", told).unwrap();
    assert_eq!(stage.available("provider"), resources("6", "6Gi"));

    // An agent that does not say so gets the older formula.
    stage.advertise("provider", used).unwrap();
    assert_eq!(stage.available("provider"), resources("2", "2Gi"));
}

#[test]
fn a_provider_that_fills_up_is_overcommitted_and_keeps_its_promises() {
    let mut stage = Stage::new();
    stage.idle("provider", "10", "10Gi");
    let granted = stage.reserve(ask("borrower", resources("8", "8Gi")));

    let decision = stage.advertise("provider", advertisement("6", "10Gi", stage.now)).unwrap();
    assert!(happened(&decision).contains(&&Happening::BecameOvercommitted));
    assert_eq!(stage.available("provider"), resources("0", "2Gi"));
    assert_eq!(stage.reserved("provider"), resources("8", "8Gi"));
    assert!(stage.fleet.reservation(granted.id).unwrap().phase.is_live());
    let refused = stage.refused(ask("other", resources("1m", "1Mi")));
    assert_eq!(reasons(&refused), ["provider is overcommitted"]);

    let decision = stage.advertise("provider", advertisement("9", "10Gi", stage.now)).unwrap();
    assert!(happened(&decision).contains(&&Happening::NoLongerOvercommitted));
    stage.reserve(ask("other", resources("1", "2Gi")));
}
