//! A sequential model: who should get a request, by the formulas of DESIGN and nothing else.

use std::collections::BTreeMap;

use crate::ask::{Ask, Strategy};
use crate::fleet::Fleet;
use crate::id::ClusterId;
use crate::price::Cost;
use crate::reservation::{Phase, Reservation};
use crate::resources::{DIMENSIONS, Dimension, Resources};
use crate::time::Timestamp;

const BILLION: i128 = 1_000_000_000;

/// One cluster with its amounts as plain numbers.
struct Candidate<'a> {
    id: &'a ClusterId,
    allocatable: [i128; DIMENSIONS],
    available: [i128; DIMENSIONS],
    price: Option<i128>,
    preferred: usize,
}

/// Who should get this request: every cluster is looked at, every sum is made anew.
#[must_use]
pub fn expected_provider(fleet: &Fleet, ask: &Ask, now: Timestamp) -> Option<ClusterId> {
    let candidates: Vec<Candidate<'_>> =
        fleet.clusters().filter_map(|kept| candidate(fleet, kept.record(), ask, now)).collect();
    let prices = || candidates.iter().filter_map(|candidate| candidate.price);
    let range = prices().min().zip(prices().max());
    let strategy = ask.terms().strategy.unwrap_or(fleet.policy().strategy);
    let mut best: Option<(usize, i128, &ClusterId)> = None;
    for candidate in &candidates {
        let score = score(fleet, ask, strategy, candidate, range);
        let better = best.is_none_or(|(preferred, top, id)| {
            (candidate.preferred, score) > (preferred, top)
                || ((candidate.preferred, score) == (preferred, top) && candidate.id < id)
        });
        if better {
            best = Some((candidate.preferred, score, candidate.id));
        }
    }
    best.map(|(_, _, id)| id.clone())
}

fn candidate<'a>(
    fleet: &'a Fleet,
    record: &'a crate::fleet::ClusterRecord,
    ask: &Ask,
    now: Timestamp,
) -> Option<Candidate<'a>> {
    let advertised = record.advertised.as_ref()?;
    let told = &advertised.advertisement;
    let age = now.as_nanos() - advertised.received_at.as_nanos();
    let fresh = age < fleet.policy().stale_after.as_nanos();
    let allowed = record.id != *ask.requester() && fresh && !fleet.is_recovering(record);
    let target = ask.terms().target.as_ref().is_none_or(|target| *target == record.id);
    let labelled = ask.terms().required.iter().all(|(key, value)| told.labels.has(key, value));
    let available = available(fleet, &record.id, told);
    let requested = plain(ask.resources());
    let fits = (0..DIMENSIONS).all(|d| available[d] >= requested[d].max(0) && available[d] >= 0);
    let ceiling = ask.terms().ceiling.as_ref();
    let currency = ceiling.map(|top| &top.currency).or(fleet.policy().currency.as_ref());
    let cost = told.cost.as_ref().filter(|cost| Some(&cost.currency) == currency);
    let price = cost.map(|cost| price(cost, requested));
    let affordable = ceiling.is_none_or(|top| {
        price.is_some_and(|price| price <= i128::try_from(top.amount.billionths()).unwrap())
    });
    (allowed && target && labelled && fits && affordable).then(|| Candidate {
        id: &record.id,
        allocatable: plain(told.allocatable),
        available,
        price,
        preferred: ask.terms().preferred.iter().filter(|(k, v)| told.labels.has(k, v)).count(),
    })
}

fn plain(resources: Resources) -> [i128; DIMENSIONS] {
    resources.amounts().map(i128::from)
}

fn available(
    fleet: &Fleet,
    id: &ClusterId,
    told: &crate::advertisement::Advertisement,
) -> [i128; DIMENSIONS] {
    let mut reserved: BTreeMap<&ClusterId, [i128; DIMENSIONS]> = BTreeMap::new();
    let live = |kept: &&Reservation| {
        kept.provider == *id && matches!(kept.phase, Phase::Reserved(_) | Phase::Active(_))
    };
    for kept in fleet.reservations().filter(live) {
        let sum = reserved.entry(kept.ask.requester()).or_default();
        for (sum, amount) in sum.iter_mut().zip(plain(kept.ask.resources())) {
            *sum += amount;
        }
    }
    let (allocatable, allocated) = (plain(told.allocatable), plain(told.allocated));
    std::array::from_fn(|d| {
        let outstanding: i128 =
            reserved.iter().map(|(q, sum)| (sum[d] - plain(told.consumed.by(q))[d]).max(0)).sum();
        allocatable[d] - allocated[d] - outstanding
    })
}

fn price(cost: &Cost, requested: [i128; DIMENSIONS]) -> i128 {
    let rounded_up = |product: i128, unit: i128| (product + unit - 1) / unit;
    rounded_up(requested[0] * i128::from(cost.cpu.billionths()), 1000)
        + rounded_up(requested[1] * i128::from(cost.memory.billionths()), 1 << 30)
        + requested[2] * i128::from(cost.gpu.billionths())
}

fn score(
    fleet: &Fleet,
    ask: &Ask,
    strategy: Strategy,
    candidate: &Candidate<'_>,
    range: Option<(i128, i128)>,
) -> i128 {
    let requested = plain(ask.resources());
    let (mut room, mut weights) = (0, 0);
    for dimension in Dimension::ALL {
        let d = dimension.index();
        let counts = matches!(dimension, Dimension::Cpu | Dimension::Memory) || requested[d] > 0;
        if !counts {
            continue;
        }
        let weight = i128::from(fleet.policy().weights.get(dimension));
        let left = candidate.available[d] - requested[d];
        let share = if candidate.allocatable[d] == 0 {
            0
        } else {
            left * BILLION / candidate.allocatable[d]
        };
        room += weight * if strategy == Strategy::Binpack { BILLION - share } else { share };
        weights += weight;
    }
    let cheap = match (candidate.price, range) {
        (Some(_), Some((low, high))) if low == high => BILLION,
        (Some(price), Some((low, high))) => (high - price) * BILLION / (high - low),
        _ => 0,
    };
    let part = i128::from(fleet.policy().cost_share.get());
    match strategy {
        Strategy::Headroom | Strategy::Binpack => room,
        Strategy::Cheapest => cheap,
        Strategy::Balanced => (100 - part) * room + part * weights * cheap,
    }
}
