//! Scenarios by chance: few different values, so that ties and tight fits are frequent.

use std::collections::BTreeMap;

use rear_fleet::{Chance, name};

use super::Scenario;
use crate::oracle::{Charge, Offer, Texts, Wish};

/// The same amounts in several ways to write them.
const CPUS: [&str; 8] = ["4", "8", "8000m", "16", "0.5", "3", "1e1", "7.25"];
const MEMORIES: [&str; 8] =
    ["8Gi", "16Gi", "8589934592", "17179869184", "12e9", "3Gi", "1.5Gi", "20000M"];
const WANTED_CPUS: [&str; 6] = ["100m", "500m", "1", "0.75", "2", "3500m"];
const WANTED_MEMORIES: [&str; 6] = ["64Mi", "512Mi", "1Gi", "1G", "2048Ki", "6Gi"];

/// Of what a cluster has, used by others before anything is asked.
const USED: [&str; 4] = ["0", "250m", "1", "2.5"];

pub(super) fn scenario(seed: u64, number: usize) -> Scenario {
    let mut chance = Chance::new(seed, 0x7000_0000 | number as u64);
    let clusters = usize::try_from(chance.between(3, 14)).unwrap_or(3);
    let offers = (0..clusters).map(|number| offer(name(number).to_string(), &mut chance)).collect();
    let wishes = (0..chance.between(3, 8)).map(|_| wish(clusters, &mut chance)).collect();
    Scenario { offers, wishes }
}

fn offer(id: String, chance: &mut Chance) -> Offer {
    let some = chance.percent(40);
    let allocatable = Texts {
        cpu: (*chance.one_of(&CPUS)).to_owned(),
        memory: (*chance.one_of(&MEMORIES)).to_owned(),
        gpu: some.then(|| chance.between(0, 4).to_string()),
        storage: chance.percent(50).then(|| format!("{}Gi", chance.between(0, 100))),
    };
    // What a borrower consumes is part of what is allocated.
    let used = Texts {
        cpu: (*chance.one_of(&USED)).to_owned(),
        memory: format!("{}Mi", chance.between(0, 1024)),
        ..Texts::default()
    };
    let consumed = chance.percent(25).then(|| {
        (name(usize::try_from(chance.between(0, 15)).unwrap_or(0)).to_string(), used.clone())
    });
    Offer {
        id,
        allocatable,
        allocated: used,
        consumed: consumed.into_iter().collect(),
        charge: chance.percent(70).then(|| charge(chance)),
        labels: BTreeMap::from([
            ("zone".to_owned(), ["north", "south"][usize::from(chance.percent(50))].to_owned()),
            ("tier".to_owned(), ["a", "b"][usize::from(chance.percent(30))].to_owned()),
        ]),
    }
}

fn charge(chance: &mut Chance) -> Charge {
    Charge {
        cpu: format!("0.0{}", chance.between(1, 9)),
        memory: format!("0.00{}", chance.between(0, 9)),
        gpu: chance.percent(50).then(|| "1.25".to_owned()),
        currency: if chance.percent(85) { "EUR" } else { "USD" }.to_owned(),
    }
}

fn wish(clusters: usize, chance: &mut Chance) -> Wish {
    let labels = |wanted: bool, key: &str, value: &str| {
        wanted.then(|| (key.to_owned(), value.to_owned())).into_iter().collect()
    };
    let anyone = |chance: &mut Chance, of: usize| {
        name(usize::try_from(chance.next() % of as u64).unwrap_or(0)).to_string()
    };
    let strategies = [None, Some("headroom"), Some("balanced"), Some("cheapest"), Some("binpack")];
    Wish {
        requester: anyone(chance, super::CLUSTERS),
        amounts: Texts {
            cpu: (*chance.one_of(&WANTED_CPUS)).to_owned(),
            memory: (*chance.one_of(&WANTED_MEMORIES)).to_owned(),
            gpu: chance.percent(20).then(|| chance.between(1, 2).to_string()),
            storage: chance.percent(20).then(|| "10Gi".to_owned()),
        },
        strategy: chance.one_of(&strategies).map(str::to_owned),
        target: chance.percent(10).then(|| anyone(chance, clusters)),
        required: labels(chance.percent(20), "zone", "north"),
        preferred: labels(chance.percent(25), "tier", "a"),
        ceiling: chance.percent(20).then(|| {
            let currency = if chance.percent(80) { "EUR" } else { "USD" };
            (format!("0.{}", chance.between(1, 9)), currency.to_owned())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{World, judge};

    #[test]
    fn scenarios_have_fits_and_lacks_of_every_kind() {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for number in 0..300 {
            let Scenario { offers, wishes } = scenario(1, number);
            let world = World { offers, promises: Vec::new(), currency: "EUR".to_owned() };
            for wish in &wishes {
                let verdict = judge(&world, wish);
                *reasons.entry("fits").or_default() += verdict.fitting.len();
                for lack in verdict.lacking.values() {
                    *reasons.entry(lack.reason).or_default() += 1;
                }
            }
        }
        for reason in [
            "fits",
            "own-cluster",
            "overcommitted",
            "insufficient",
            "label",
            "unpriced",
            "too-expensive",
        ] {
            assert!(reasons.get(reason).is_some_and(|many| *many > 20), "{reason}: {reasons:?}");
        }
    }
}
