//! What prices do to a choice, at their edges: other currencies, a missing byte, sums beyond 64 bits.

use rear_engine::policy::{Policy, Weights};
use rear_engine::price::PriceCeiling;
use rear_engine::testing::{advertisement, ask, cluster, cost, of_size, resources};
use rear_engine::{Ask, Resources, Strategy, Terms, dry_run};

use super::stage::{Stage, provider};

/// A broker that compares in euros and lets cost count.
fn balanced() -> Stage {
    let currency = Some("EUR".parse().unwrap());
    Stage::with(Policy { currency, strategy: Strategy::Balanced, ..Policy::default() })
}

/// Ten cores of which `used` are in use, for `price` a core.
fn ten_cores(stage: &mut Stage, name: &str, used: &str, price: &str, currency: &str) {
    let mut told = advertisement("10", "2Ti", stage.now);
    told.allocated = resources(used, "0");
    told.cost = Some(cost(price, "0", "0", currency));
    stage.advertise(name, told).unwrap();
}

#[test]
fn a_ceiling_in_another_currency_compares_prices_in_that_currency() {
    let mut stage = balanced();
    ten_cores(&mut stage, "cheap", "1", "1", "USD");
    ten_cores(&mut stage, "dear", "0", "3", "USD");
    let ceiling = PriceCeiling { amount: "10".parse().unwrap(), currency: "USD".parse().unwrap() };
    let terms = Terms { ceiling: Some(ceiling), ..Terms::default() };
    let wanted = Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap();
    assert_eq!(provider(&stage.reserve(wanted)).as_str(), "cheap");
}

/// `almost` would be the cheapest, and make `near` only half as cheap as it is among those that fit.
#[test]
fn who_lacks_a_single_byte_sets_no_price() {
    let mut stage = balanced();
    let mut almost = advertisement("10", "2Ti", stage.now);
    almost.allocated = Resources::from_amounts([0, (1 << 40) + 1, 0, 0]).unwrap();
    almost.cost = Some(cost("1", "0", "0", "EUR"));
    stage.advertise("almost", almost).unwrap();
    ten_cores(&mut stage, "near", "7", "2", "EUR");
    ten_cores(&mut stage, "roomy", "1", "3", "EUR");
    let reservation = stage.reserve(ask("r", resources("1", "1Ti")));
    assert_eq!(provider(&reservation).as_str(), "near");
}

/// How cheap the middle one of three is, in billionths, for `devices` at these prices.
fn cheapness_of_the_middle(devices: u64, prices: [&str; 3]) -> u64 {
    let mut stage = balanced();
    let size = Resources::from_amounts([1000, 1 << 30, devices, 0]).unwrap();
    for (name, price) in ["low", "middle", "high"].into_iter().zip(prices) {
        let mut told = of_size(size, stage.now);
        told.cost = Some(cost("0", "0", price, "EUR"));
        stage.advertise(name, told).unwrap();
    }
    let ranking = dry_run(&stage.fleet, &ask("r", size), stage.now);
    let middle = ranking.fitting.iter().find(|ranked| ranked.cluster.as_str() == "middle");
    middle.unwrap().parts.cost.unwrap().value()
}

#[test]
fn prices_beyond_64_bits_are_compared_to_the_billionth() {
    assert_eq!(cheapness_of_the_middle(1 << 40, ["0", "1", "3"]), 666_666_666);
    let nearly_free = ["0", "0.000000001", "10.000000007"];
    assert_eq!(cheapness_of_the_middle((1 << 31) + 1, nearly_free), 999_999_999);
}

#[test]
fn the_largest_prices_are_compared_as_well() {
    assert_eq!(cheapness_of_the_middle(1 << 62, ["0", "100000000", "300000000"]), 666_666_666);
}

#[test]
fn a_ranking_compares_as_it_is_sorted() {
    let mut stage = balanced();
    ten_cores(&mut stage, "cheap", "0", "1", "EUR");
    ten_cores(&mut stage, "dear", "0", "2", "EUR");
    let ranking = dry_run(&stage.fleet, &ask("r", resources("1", "1Gi")), stage.now);
    assert_eq!(ranking.fitting[0].cluster.as_str(), "cheap");
    assert!(ranking.fitting[0] > ranking.fitting[1]);
}

#[test]
fn the_displayed_score_counts_by_weight() {
    let mut stage = Stage::new();
    ten_cores(&mut stage, "half", "5", "1", "EUR");
    let half = stage.fleet.cluster(&cluster("half")).unwrap();
    let weights = Weights::new([3, 1, 1, 1]).unwrap();
    let score = rear_engine::place::score::displayed(half, weights).unwrap();
    assert_eq!(score.to_string(), "62.50");
}
