//! Who gets a request: every edge of filter, score and select.

use proptest::prelude::*;
use rear_engine::fleet::{Advertised, ClusterRecord};
use rear_engine::policy::{Percent, Policy, PolicyError, Weights};
use rear_engine::price::PriceCeiling;
use rear_engine::testing::fleets::{self, Dice, Load};
use rear_engine::testing::{
    advertisement, all_resources, ask, cluster, cost, id, labels, of_size, resources,
};
use rear_engine::{
    Actor, Ask, Change, Command, Dimension, Duration, Fleet, Resources, Strategy, Terms, decide,
    dry_run,
};

use super::stage::{Stage, provider, reasons, start};

fn with(requester: &str, amount: Resources, terms: Terms) -> Ask {
    Ask::new(cluster(requester), amount, terms).unwrap()
}

fn chosen(stage: &mut Stage, ask: Ask) -> String {
    provider(&stage.reserve(ask)).to_string()
}

fn by(strategy: Strategy) -> Terms {
    Terms { strategy: Some(strategy), ..Terms::default() }
}

#[test]
fn an_exact_fit_leaves_nothing() {
    let mut stage = Stage::new();
    stage.idle("a", "2", "4Gi");
    stage.reserve(ask("r", resources("2", "4Gi")));
    assert_eq!(stage.available("a"), Resources::NONE);
    let refused = stage.refused(ask("r", resources("1m", "1")));
    assert_eq!(reasons(&refused), ["a needs 1m cpu, 0 free"]);
}

#[test]
fn one_byte_too_much_is_refused() {
    let mut stage = Stage::new();
    stage.idle("a", "1000", "8025424Ki");
    let beyond = Resources::from_amounts([1, 8_025_424 * 1024 + 1, 0, 0]).unwrap();
    let refused = stage.refused(ask("r", beyond));
    assert_eq!(reasons(&refused), ["a needs 8218034177 memory, 8025424Ki free"]);
    stage.reserve(ask("r", resources("1m", "8025424Ki")));
}

#[test]
fn nothing_allocatable_gets_nothing() {
    let mut stage = Stage::new();
    stage.idle("empty", "0", "0");
    let refused = stage.refused(ask("r", resources("1m", "1")));
    assert_eq!(reasons(&refused), ["empty needs 1m cpu, 0 free"]);
    let ranking = dry_run(&stage.fleet, &ask("r", resources("1m", "1")), stage.now);
    assert_eq!((ranking.target, ranking.fitting.len(), ranking.others.len()), (None, 0, 1));
}

#[test]
fn an_empty_fleet_says_so() {
    let refused = Stage::new().refused(ask("r", resources("1", "1Gi")));
    assert_eq!(refused.to_string(), "no cluster advertises capacity");
    assert_eq!(refused.considered, 0);
}

#[test]
fn nobody_borrows_from_itself() {
    let mut stage = Stage::new();
    stage.idle("a", "8", "8Gi");
    let refused = stage.refused(ask("a", resources("1", "1Gi")));
    assert_eq!(reasons(&refused), ["a is the requester itself"]);
    stage.idle("b", "1", "1Gi");
    assert_eq!(chosen(&mut stage, ask("a", resources("1", "1Gi"))), "b");
}

#[test]
fn without_a_gpu_no_gpu_is_lent() {
    let mut stage = Stage::new();
    stage.idle("plain", "64", "64Gi");
    stage.advertise("gpu", of_size(all_resources("8", "8Gi", "1", "10Gi"), stage.now)).unwrap();
    let one = all_resources("1", "1Gi", "1", "0");
    assert_eq!(chosen(&mut stage, ask("r", one)), "gpu");
    let refused = stage.refused(ask("r", one));
    assert_eq!(reasons(&refused), ["gpu needs 1 gpu, 0 free", "plain needs 1 gpu, 0 free"]);
    let two = all_resources("1", "1Gi", "2", "0");
    let mut stage = Stage::new();
    stage.advertise("gpu", of_size(all_resources("8", "8Gi", "1", "10Gi"), stage.now)).unwrap();
    assert_eq!(reasons(&stage.refused(ask("r", two))), ["gpu needs 2 gpu, 1 free"]);
}

#[test]
fn storage_counts_when_it_is_requested() {
    let mut stage = Stage::new();
    // Less of CPU and memory, much more of storage.
    stage.advertise("disk", of_size(all_resources("8", "8Gi", "0", "1Ti"), stage.now)).unwrap();
    stage.advertise("plain", of_size(all_resources("10", "10Gi", "0", "20Gi"), stage.now)).unwrap();
    assert_eq!(chosen(&mut stage, ask("r", resources("1", "1Gi"))), "plain");
    assert_eq!(chosen(&mut stage, ask("r", all_resources("1", "1Gi", "0", "18Gi"))), "disk");
}

#[test]
fn a_stale_cluster_gets_nothing_and_returns_when_heard() {
    let mut stage = Stage::new();
    stage.idle("a", "8", "8Gi");
    stage.pass("9m59s");
    stage.reserve(ask("r", resources("1", "1Gi")));
    stage.pass("1s");
    let refused = stage.refused(ask("r", resources("1", "1Gi")));
    assert_eq!(reasons(&refused), ["a has not advertised for too long"]);
    stage.act(Command::MarkStale { limit: 10 }).unwrap();
    let refused = stage.refused(ask("r", resources("1", "1Gi")));
    assert_eq!(reasons(&refused), ["a has not advertised for too long"]);
    stage.idle("a", "8", "8Gi");
    stage.reserve(ask("r", resources("1", "1Gi")));
}

#[test]
fn ties_go_to_the_smaller_id() {
    let mut stage = Stage::new();
    for name in ["c", "a", "b"] {
        stage.idle(name, "8", "8Gi");
    }
    let order: Vec<String> =
        (0..6).map(|_| chosen(&mut stage, ask("r", resources("1", "1Gi")))).collect();
    assert_eq!(order, ["a", "b", "c", "a", "b", "c"]);
}

#[test]
fn a_target_is_used_or_refused_but_never_replaced() {
    let mut stage = Stage::new();
    stage.idle("small", "2", "2Gi").idle("large", "64", "64Gi");
    let to = |target: &str| Terms { target: Some(cluster(target)), ..Terms::default() };
    let two = resources("2", "2Gi");
    assert_eq!(chosen(&mut stage, with("r", two, to("small"))), "small");
    let refused = stage.refused(with("r", two, to("small")));
    assert_eq!(reasons(&refused), ["small needs 2 cpu, 0 free"]);
    assert_eq!(refused.to_string(), "the only cluster does not fit: small needs 2 cpu, 0 free");
    assert_eq!(reasons(&stage.refused(with("r", two, to("nobody")))), ["nobody is not known"]);
    assert_eq!(
        reasons(&stage.refused(with("large", two, to("large")))),
        ["large is the requester itself"]
    );
}

#[test]
fn required_labels_exclude_and_preferred_ones_come_first() {
    let mut stage = Stage::new();
    for (name, cpu, zone) in
        [("big", "64", "north"), ("mid", "16", "south"), ("small", "8", "south")]
    {
        let mut told = advertisement(cpu, "8Gi", stage.now);
        told.labels = labels(&[("zone", zone), ("name", name)]);
        stage.advertise(name, told).unwrap();
    }
    let one = resources("1", "1Gi");
    let require = |pairs| Terms { required: labels(pairs), ..Terms::default() };
    let prefer = |pairs| Terms { preferred: labels(pairs), ..Terms::default() };
    assert_eq!(chosen(&mut stage, with("r", one, Terms::default())), "big");
    assert_eq!(chosen(&mut stage, with("r", one, require(&[("zone", "south")]))), "mid");
    assert_eq!(chosen(&mut stage, with("r", one, prefer(&[("name", "small")]))), "small");
    assert_eq!(
        chosen(&mut stage, with("r", one, prefer(&[("zone", "south"), ("name", "small")]))),
        "small"
    );
    assert_eq!(chosen(&mut stage, with("r", one, prefer(&[("zone", "west")]))), "big");
    let refused = stage.refused(with("r", one, require(&[("zone", "west")])));
    assert_eq!(refused.candidates.len(), 3);
    assert_eq!(reasons(&refused)[0], "big lacks the label zone=west");
}

fn priced() -> Stage {
    let policy = Policy { currency: Some("EUR".parse().unwrap()), ..Policy::default() };
    let mut stage = Stage::with(policy);
    for (name, cpu, price, currency) in [
        ("cheap", "8", "0.01", "EUR"),
        ("dear", "64", "0.10", "EUR"),
        ("dollar", "32", "0.01", "USD"),
    ] {
        let mut told = advertisement(cpu, "64Gi", stage.now);
        told.cost = Some(cost(price, "0", "0", currency));
        stage.advertise(name, told).unwrap();
    }
    stage.idle("free", "24", "64Gi");
    stage
}

#[test]
fn each_strategy_chooses_its_own_way() {
    for (strategy, expected) in [
        (Strategy::Headroom, "dear"),
        (Strategy::Cheapest, "cheap"),
        (Strategy::Binpack, "cheap"),
        (Strategy::Balanced, "cheap"),
    ] {
        let ask = with("r", resources("1", "1Gi"), by(strategy));
        assert_eq!(chosen(&mut priced(), ask), expected, "{strategy:?}");
    }
}

#[test]
fn no_price_counts_as_the_dearest() {
    let ranking = dry_run(
        &priced().fleet,
        &with("r", resources("1", "1Gi"), by(Strategy::Cheapest)),
        start(),
    );
    let shown: Vec<(String, String)> = ranking
        .fitting
        .iter()
        .map(|ranked| (ranked.cluster.to_string(), ranked.score.to_string()))
        .collect();
    let expected = [("cheap", "100.00"), ("dear", "0.00"), ("dollar", "0.00"), ("free", "0.00")];
    assert_eq!(shown, expected.map(|(name, score)| (name.to_owned(), score.to_owned())));
}

#[test]
fn balanced_gives_cost_its_share() {
    let ask = with("r", resources("2", "16Gi"), by(Strategy::Balanced));
    let ranking = dry_run(&priced().fleet, &ask, start());
    let of =
        |name: &str| ranking.fitting.iter().find(|ranked| ranked.cluster.as_str() == name).unwrap();
    // cheap: (6/8 + 48/64) / 2 = 75 %, at 70 %, and 30 % for its price.
    assert_eq!(of("cheap").score.to_string(), "82.50");
    // dear: (62/64 + 48/64) / 2 = 85.9375 %, at 70 %.
    assert_eq!(of("dear").score.to_string(), "60.15");
    let parts = &of("dear").parts;
    assert_eq!(parts.room[0].unwrap().to_string(), "96.87");
    assert_eq!(parts.room[1].unwrap().to_string(), "75.00");
    assert_eq!((parts.room[2], parts.room[3]), (None, None));
    assert_eq!(parts.cost.unwrap().to_string(), "0.00");
    assert_eq!(of("cheap").parts.cost.unwrap().to_string(), "100.00");
}

#[test]
fn a_ceiling_excludes_what_costs_more_and_what_names_no_price() {
    let ceiling = |amount: &str, currency: &str| Terms {
        ceiling: Some(PriceCeiling {
            amount: amount.parse().unwrap(),
            currency: currency.parse().unwrap(),
        }),
        ..Terms::default()
    };
    let two = resources("2", "1Gi");
    assert_eq!(chosen(&mut priced(), with("r", two, ceiling("0.2", "EUR"))), "dear");
    assert_eq!(chosen(&mut priced(), with("r", two, ceiling("0.199999999", "EUR"))), "cheap");
    assert_eq!(chosen(&mut priced(), with("r", two, ceiling("1", "USD"))), "dollar");
    let refused = priced().refused(with("r", two, ceiling("0.01", "EUR")));
    assert_eq!(
        reasons(&refused),
        [
            "cheap costs 0.02 an hour, the ceiling is 0.01",
            "dear costs 0.2 an hour, the ceiling is 0.01",
            "dollar names no price in EUR",
            "free names no price in EUR",
        ]
    );
    let unknown = priced().refused(with("r", two, ceiling("1", "XYZ")));
    assert!(reasons(&unknown).iter().all(|reason| reason.ends_with("names no price in XYZ")));
}

#[test]
fn weights_change_what_counts() {
    let prefer_memory =
        Policy { weights: Weights::new([1, 9, 1, 1]).unwrap(), ..Policy::default() };
    for (policy, expected) in [(Policy::default(), "cpu"), (prefer_memory, "memory")] {
        let mut stage = Stage::with(policy);
        stage.idle("cpu", "100", "10Gi").idle("memory", "10", "20Gi");
        assert_eq!(chosen(&mut stage, ask("r", resources("5", "5Gi"))), expected);
    }
    assert_eq!(Weights::new([0, 0, 1, 1]), Err(PolicyError::NoWeight));
    assert_eq!(Weights::new([1001, 1, 1, 1]), Err(PolicyError::Weight));
    assert!(Weights::new([0, 1000, 0, 0]).is_ok() && Weights::new([1, 0, 0, 0]).is_ok());
    assert_eq!(Percent::new(101), Err(PolicyError::Percent));
    assert_eq!(Percent::new(100).unwrap().get(), 100);
}

#[test]
fn a_dimension_without_weight_must_still_fit() {
    let mut stage =
        Stage::with(Policy { weights: Weights::new([0, 1, 0, 0]).unwrap(), ..Policy::default() });
    stage.idle("a", "1", "64Gi").idle("b", "4", "8Gi").idle("zero", "0", "64Gi");
    assert_eq!(chosen(&mut stage, ask("r", resources("2", "1Gi"))), "b");
}

#[test]
fn a_dry_run_locks_nothing_and_says_what_a_request_would_get() {
    let mut stage = Stage::new();
    stage.idle("a", "8", "8Gi").idle("b", "16", "8Gi").idle("c", "1", "8Gi");
    let wanted = ask("r", resources("2", "2Gi"));
    let before = stage.available("b");
    let ranking = dry_run(&stage.fleet, &wanted, stage.now);
    assert_eq!(stage.available("b"), before);
    let order: Vec<&str> = ranking.fitting.iter().map(|ranked| ranked.cluster.as_str()).collect();
    assert_eq!(order, ["b", "a"]);
    assert_eq!(ranking.fitting[1].score.to_string(), "75.00");
    assert_eq!(ranking.others.len(), 1);
    assert_eq!(ranking.others[0].to_string(), "c needs 2 cpu, 1 free");
    assert_eq!(ranking.target.unwrap().as_str(), chosen(&mut stage, wanted));
    let to = |target: &str| Terms { target: Some(cluster(target)), ..Terms::default() };
    let ranking = dry_run(&stage.fleet, &with("r", resources("1", "1Gi"), to("a")), stage.now);
    assert_eq!((ranking.target.unwrap().as_str(), ranking.fitting.len()), ("a", 1));
    let ranking = dry_run(&stage.fleet, &with("r", resources("2", "1Gi"), to("c")), stage.now);
    assert_eq!((ranking.target, ranking.others.len()), (None, 1));
}

#[test]
fn scores_are_floored_where_they_are_shown() {
    let mut stage = Stage::new();
    stage.idle("a", "3", "3Gi");
    let ranking = dry_run(&stage.fleet, &ask("r", resources("1", "1Gi")), stage.now);
    assert_eq!(ranking.fitting[0].score.to_string(), "66.66");
    assert_eq!(ranking.fitting[0].score.value(), 2 * 666_666_666);
}

/// Some clusters of a fleet get a label, and some become stale.
fn vary(fleet: &mut Fleet, dice: &mut Dice, stale: bool) {
    let records: Vec<_> = fleet.clusters().map(|kept| kept.record().clone()).collect();
    for mut record in records {
        let told = record.advertised.as_mut().unwrap();
        if dice.below(3) == 0 {
            told.advertisement.labels = labels(&[("zone", "north")]);
        }
        if stale && dice.below(4) == 0 {
            let long_ago = fleet.policy().stale_after.as_nanos();
            told.received_at = start().plus(Duration::from_nanos(-long_ago));
        }
        fleet.apply(Change::Cluster(Box::new(record))).unwrap();
    }
}

fn terms(dice: &mut Dice) -> Terms {
    let north = || labels(&[("zone", "north")]);
    let amount = ["0.5", "0.05", "0.005"][usize::try_from(dice.below(3)).unwrap()];
    Terms {
        strategy: (dice.below(3) == 0)
            .then(|| Strategy::ALL[usize::try_from(dice.below(4)).unwrap()]),
        required: if dice.below(3) == 0 { north() } else { labels(&[]) },
        ceiling: (dice.below(3) == 0).then(|| PriceCeiling {
            amount: amount.parse().unwrap(),
            currency: "EUR".parse().unwrap(),
        }),
        ..Terms::default()
    }
}

/// Requests of every shape on fleets of many blocks: the index and the plain scan of a dry run agree.
fn fast_and_plain_agree(count: usize, load: Load, policy: &Policy, stale: bool, seed: u64) {
    let mut fleet = fleets::fleet_under(count, load, policy.clone(), start());
    let mut dice = Dice::new(seed);
    vary(&mut fleet, &mut dice, stale);
    for number in 0..12 {
        let dimensions = if dice.below(2) == 0 { 2 } else { 4 };
        let shape = fleets::request(&mut dice, dimensions);
        let mut amounts = shape.resources().amounts();
        amounts[3] = if dice.below(2) == 0 { 0 } else { amounts[3] };
        amounts[0] *= 1 + dice.below(20);
        // Some clusters ask themselves, and may be the best of all for it.
        let requester = fleets::name(usize::try_from(dice.below(2 * count as u64)).unwrap());
        let resources = Resources::from_amounts(amounts).unwrap();
        let wanted = Ask::new(requester.clone(), resources, terms(&mut dice)).unwrap();
        let expected = dry_run(&fleet, &wanted, start()).target;
        let by = Actor::Cluster(requester);
        let reserve = Command::Reserve { id: id(number), ask: Box::new(wanted), key: None, by };
        match decide(&fleet, reserve, start()) {
            Ok(decision) => {
                fleet.apply_all(decision).unwrap();
                assert_eq!(
                    fleet.reservation(id(number)).map(|made| made.provider.clone()),
                    expected
                );
            }
            Err(refusal) => assert_eq!(expected, None, "{refusal}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_the_plain_scan_finds(
        // Blocks of blocks begin at a thousand.
        count in prop_oneof![3 => 1..700_usize, 1 => 1100..2600_usize],
        load in prop::sample::select(vec![Load::Mixed, Load::Levelled, Load::Uniform]),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        weights in prop_oneof![Just([1_u32; 4]), [0..1000_u32, 1..1000_u32, 0..1000_u32, 0..1000_u32]],
        cost_share in 0..=100_u8,
        stale: bool,
        seed: u64,
    ) {
        let policy = Policy {
            strategy,
            weights: Weights::new(weights).unwrap(),
            cost_share: Percent::new(cost_share).unwrap(),
            currency: "EUR".parse().ok(),
            ..Policy::default()
        };
        fast_and_plain_agree(count, load, &policy, stale, seed);
    }
}

/// Clusters that differ by a byte: the approximate columns cannot tell them apart, the decision can.
#[test]
fn a_difference_of_one_byte_decides() {
    let mut stage = Stage::new();
    for number in 0..200_u64 {
        let size = Resources::from_amounts([64_000, (64 << 30) + number % 7, 0, 0]).unwrap();
        let mut told = of_size(size, stage.now);
        told.allocated = Resources::from_amounts([0, 32 << 30, 0, 0]).unwrap();
        stage.advertise(&format!("c{number:03}"), told).unwrap();
    }
    let wanted = ask("r", Resources::from_amounts([1, 1 << 30, 0, 0]).unwrap());
    let expected = dry_run(&stage.fleet, &wanted, stage.now).target.unwrap();
    assert_eq!(chosen(&mut stage, wanted), expected.as_str());
    let exact = ask("r", Resources::from_amounts([1, (32 << 30) + 6, 0, 0]).unwrap());
    assert_eq!(chosen(&mut stage, exact), "c006");
}

/// Prices that differ in the ninth decimal are told apart although the columns round them.
#[test]
fn a_difference_of_a_billionth_decides_what_is_cheapest() {
    let policy = Policy { currency: Some("EUR".parse().unwrap()), ..Policy::default() };
    let mut stage = Stage::with(policy);
    for number in 0..150 {
        let mut told = advertisement("64", "64Gi", stage.now);
        let price = if number == 77 { "0.123456788" } else { "0.123456789" };
        told.cost = Some(cost(price, "0.05", "0", "EUR"));
        told.allocated = resources(&format!("{number}m"), "0");
        stage.advertise(&format!("c{number:03}"), told).unwrap();
    }
    let wanted = with("r", resources("1", "1Gi"), by(Strategy::Cheapest));
    assert_eq!(chosen(&mut stage, wanted), "c077");
}

/// Rates that are hard to tell apart: by a billionth, by less than an `f32` sees, or hardly above nothing.
const HARD_RATES: [&str; 8] =
    ["0.00500004", "0.005", "0.000000001", "0.000000002", "0", "0.123456789", "0.123456788", "1"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn prices_that_are_hard_to_tell_apart_are_told_apart(
        rates in prop::collection::vec((0..8_usize, 0..8_usize, 0..3_usize), 1..80),
        tiny: bool,
        cpu in 1..3000_u64,
        memory in 1..4_000_000_000_u64,
        strategy in prop::sample::select(vec![Strategy::Cheapest, Strategy::Balanced]),
    ) {
        let policy = Policy { currency: Some("EUR".parse().unwrap()), strategy, ..Policy::default() };
        let mut stage = Stage::with(policy);
        for (number, (cpu_rate, memory_rate, used)) in rates.into_iter().enumerate() {
            let mut told = advertisement("8", "8Gi", stage.now);
            told.allocated = resources(&format!("{}m", used * 100), "0");
            let tiny_rate = |number: usize| format!("0.00000000{number}");
            let rate = |number: usize| {
                if tiny { tiny_rate(number) } else { HARD_RATES[number].to_owned() }
            };
            let cost = || cost(&rate(cpu_rate), &rate(memory_rate), "0", "EUR");
            told.cost = (used > 0).then(cost);
            stage.advertise(&format!("c{number:03}"), told).unwrap();
        }
        // The requester has a cluster of its own, cheaper than all: it does not count.
        let mut own = advertisement("64", "64Gi", stage.now);
        own.cost = Some(cost("0", "0", "0", "EUR"));
        stage.advertise("r", own).unwrap();
        let wanted = ask("r", Resources::from_amounts([cpu, memory, 0, 0]).unwrap());
        let expected = dry_run(&stage.fleet, &wanted, stage.now).target.unwrap();
        prop_assert_eq!(chosen(&mut stage, wanted), expected.as_str());
    }
}

/// An exact price rounds each term up to a billionth, so that unequal rates may be equal prices: then the
/// smaller id wins.
#[test]
fn prices_that_rounding_makes_equal_are_equal() {
    let policy = Policy { currency: Some("EUR".parse().unwrap()), ..Policy::default() };
    let mut stage = Stage::with(policy);
    for (name, rate) in [("a", "0.00500004"), ("b", "0.005")] {
        let mut told = advertisement("8", "8Gi", stage.now);
        told.cost = Some(cost("0", rate, "0", "EUR"));
        stage.advertise(name, told).unwrap();
    }
    let mut winners = std::collections::BTreeSet::new();
    for memory in (5_000_000..18_000_000).step_by(100_000) {
        let amount = Resources::from_amounts([1, memory, 0, 0]).unwrap();
        let wanted = with("r", amount, by(Strategy::Cheapest));
        let expected = dry_run(&stage.fleet, &wanted, stage.now).target.unwrap();
        let mut fresh = Stage::on(stage.fleet.clone());
        assert_eq!(chosen(&mut fresh, wanted), expected.as_str(), "{memory} bytes");
        winners.insert(expected);
    }
    assert_eq!(winners.len(), 2, "some are equal and some are not");
}

/// The largest amounts at the largest rates: an overflow of the approximate keys must not refuse anyone.
#[test]
fn extreme_amounts_and_prices_are_not_refused() {
    let most = i64::MAX.cast_unsigned();
    let policy = Policy {
        weights: Weights::new([1000; 4]).unwrap(),
        currency: Some("EUR".parse().unwrap()),
        ..Policy::default()
    };
    let mut stage = Stage::with(policy);
    let mut fleet = stage.fleet.clone();
    let mut put = |name: String, size: [u64; 4], memory_rate: &str, gpu_rate: &str| {
        let mut told = of_size(Resources::from_amounts(size).unwrap(), start());
        told.cost = Some(cost("0.000001", memory_rate, gpu_rate, "EUR"));
        let record = ClusterRecord {
            advertised: Some(Advertised { advertisement: told, received_at: start() }),
            ..ClusterRecord::new(cluster(&name))
        };
        fleet.apply(Change::Cluster(Box::new(record))).unwrap();
    };
    for number in 0..4200 {
        put(format!("poor-{number}"), [100_000 + number, 1 << 31, 0, 0], "0", "0");
    }
    put("x".to_owned(), [1000, 1 << 30, most, 0], "0.000000001", "1000000000");
    put("y".to_owned(), [1001, 1 << 30, most, 0], "0.000000002", "1000000000");
    fleet.settle();
    stage.fleet = fleet;
    let all = Resources::from_amounts([1000, 1 << 30, most, 0]).unwrap();
    let wanted = with("r", all, by(Strategy::Balanced));
    let expected = dry_run(&stage.fleet, &wanted, stage.now).target;
    let reserve = Command::Reserve {
        id: id(1),
        ask: Box::new(wanted),
        key: None,
        by: Actor::Cluster(cluster("r")),
    };
    let decision = decide(&stage.fleet, reserve, stage.now).unwrap();
    stage.fleet.apply_all(decision).unwrap();
    assert_eq!(stage.fleet.reservation(id(1)).map(|made| made.provider.clone()), expected);
}

#[test]
fn a_dry_run_shows_cost_only_where_it_counts() {
    for strategy in Strategy::ALL {
        let ask = with("r", resources("1", "1Gi"), by(strategy));
        let ranking = dry_run(&priced().fleet, &ask, start());
        let shown = ranking.fitting.iter().all(|ranked| ranked.parts.cost.is_some());
        assert_eq!(shown, strategy.counts_cost(), "{strategy:?}");
    }
}

/// A mark that was made under a shorter limit, or before the clock stepped back, counts for every way of asking.
#[test]
fn a_stale_mark_counts_for_every_kind_of_request() {
    let mut stage = Stage::new();
    stage.idle("a", "8", "8Gi").pass("15m");
    stage.act(Command::MarkStale { limit: 9 }).unwrap();
    let record = stage.fleet.cluster(&cluster("a")).unwrap().record().clone();
    let patient = Policy { stale_after: "1h".parse().unwrap(), ..Policy::default() };
    let mut later = Stage::with(patient);
    later.fleet.apply(Change::Cluster(Box::new(record))).unwrap();
    later.now = stage.now;
    let one = resources("1", "1Gi");
    for terms in [
        Terms::default(),
        Terms { target: Some(cluster("a")), ..Terms::default() },
        Terms { preferred: labels(&[("x", "y")]), ..Terms::default() },
    ] {
        let refused = later.refused(with("r", one, terms.clone()));
        assert_eq!(reasons(&refused), ["a has not advertised for too long"]);
        assert_eq!(dry_run(&later.fleet, &with("r", one, terms), later.now).target, None);
    }
}

#[test]
fn dimensions_know_their_place() {
    for (position, dimension) in Dimension::ALL.into_iter().enumerate() {
        assert_eq!(dimension.index(), position);
    }
}
