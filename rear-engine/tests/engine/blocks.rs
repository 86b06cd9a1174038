//! The index looks at clusters in blocks of 32, and at blocks in blocks of 32: whatever hides among them is found.

use rear_engine::fleet::{Advertised, ClusterRecord};
use rear_engine::testing::{ask, cluster, cost, of_size, resources};
use rear_engine::{Ask, Change, Fleet, Policy, Resources, Strategy, Terms};

use super::stage::{Stage, provider, start};

const CORES: u64 = 100;
const MEMORY: u64 = 1 << 36;

/// What one cluster of the row has free, in percent of CPU and memory, and what it charges for a core.
struct Spot {
    number: u64,
    free: [u64; 2],
    price: &'static str,
}

/// Clusters in order of their size, so that the index keeps them in this order; those without a spot are full.
fn row_of(count: u64, policy: Policy, price: &str, spots: &[Spot]) -> Stage {
    let mut fleet = Fleet::new(policy);
    for number in 0..count {
        let spot = spots.iter().find(|spot| spot.number == number);
        let ([cpu, memory], price) = spot.map_or(([0, 0], price), |spot| (spot.free, spot.price));
        let size = [CORES * 1000, MEMORY + number, 0, 0];
        let used = [(100 - cpu) * CORES * 10, size[1] - memory * (MEMORY / 100), 0, 0];
        let mut told = of_size(Resources::from_amounts(size).unwrap(), start());
        told.allocated = Resources::from_amounts(used).unwrap();
        told.cost = Some(cost(price, "0", "0", "EUR"));
        let record = ClusterRecord {
            advertised: Some(Advertised { advertisement: told, received_at: start() }),
            ..ClusterRecord::new(cluster(&format!("c{number}")))
        };
        fleet.apply(Change::Cluster(Box::new(record))).unwrap();
    }
    fleet.settle();
    Stage::on(fleet)
}

/// The block that promises most holds nothing that fits; the best is at the same place of another block of blocks.
#[test]
fn the_best_is_found_beyond_a_block_that_only_promises() {
    let spot = |number, free| Spot { number, free, price: "1" };
    let spots =
        [spot(35, [100, 0]), spot(37, [0, 30]), spot(600, [20, 20]), spot(32 * 33 + 7, [40, 40])];
    let mut stage = row_of(2048, Policy::default(), "1", &spots);
    let reservation = stage.reserve(ask("r", resources("1", "1Gi")));
    assert_eq!(provider(&reservation).as_str(), "c1063");
}

/// `c37` is met before the cheapest that fits, among neighbours that charge less and are full. All prices are such that
/// the columns hold them exactly.
#[test]
fn the_cheapest_is_found_behind_full_ones_that_charge_less() {
    let policy = Policy { currency: Some("EUR".parse().unwrap()), ..Policy::default() };
    let mut spots: Vec<Spot> =
        (0..32).map(|number| Spot { number, free: [0, 0], price: "1" }).collect();
    spots.push(Spot { number: 35, free: [0, 0], price: "0.5" });
    spots.push(Spot { number: 37, free: [60, 60], price: "2" });
    spots.push(Spot { number: 70, free: [50, 50], price: "1.5" });
    spots.push(Spot { number: 100, free: [10, 10], price: "3" });
    let mut stage = row_of(128, policy, "8", &spots);
    let terms = Terms { strategy: Some(Strategy::Balanced), ..Terms::default() };
    let wanted = Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap();
    assert_eq!(provider(&stage.reserve(wanted)).as_str(), "c70");
}
