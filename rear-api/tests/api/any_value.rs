//! Any advertisement and any ask that the engine can hold, up to its limits.

use proptest::option;
use proptest::prelude::*;
use rear_engine::advertisement::{Consumed, Holding, Order};
use rear_engine::ask::{MAX_DURATION, MIN_DURATION};
use rear_engine::labels::Labels;
use rear_engine::price::{Cost, Currency, PriceCeiling};
use rear_engine::testing::id;
use rear_engine::text::Line;
use rear_engine::{
    Advertisement, Ask, ClusterId, Duration, Resources, Strategy as Choice, Terms, Timestamp,
};

pub(crate) fn cluster() -> BoxedStrategy<ClusterId> {
    "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z0-9]{1,19}){0,2}"
        .prop_map(|text| text.parse().unwrap())
        .boxed()
}

/// Any amounts from this one on, as often small as up to the largest.
fn amounts(least: u64) -> BoxedStrategy<Resources> {
    let most = i64::MAX.cast_unsigned();
    let amount = move |least| prop_oneof![least..least + 5000, least..=most];
    [amount(least).boxed(), amount(least).boxed(), amount(0).boxed(), amount(0).boxed()]
        .prop_map(|amounts| Resources::from_amounts(amounts).unwrap())
        .boxed()
}

fn line() -> BoxedStrategy<Line> {
    ".{0,40}".prop_filter_map("a line", |text| text.parse().ok()).boxed()
}

pub(crate) fn moment() -> BoxedStrategy<Timestamp> {
    any::<i64>().prop_map(Timestamp::from_nanos).boxed()
}

fn labels() -> BoxedStrategy<Labels> {
    prop::collection::btree_map("[a-z./-]{1,20}", "\\PC{0,20}", 0..4)
        .prop_filter_map("labels", |labels| Labels::new(labels).ok())
        .boxed()
}

fn price<T: std::str::FromStr<Err: std::fmt::Debug> + std::fmt::Debug>() -> impl Strategy<Value = T>
{
    "[0-9]{1,9}(\\.[0-9]{1,9})?".prop_map(|text| text.parse().unwrap())
}

fn currency() -> BoxedStrategy<Currency> {
    "[A-Za-z0-9]{1,16}".prop_map(|text| text.parse().unwrap()).boxed()
}

fn cost() -> BoxedStrategy<Cost> {
    (price(), price(), price(), currency())
        .prop_map(|(cpu, memory, gpu, currency)| Cost { cpu, memory, gpu, currency })
        .boxed()
}

fn consumed() -> BoxedStrategy<Consumed> {
    prop::collection::btree_map(cluster(), amounts(0), 0..3)
        .prop_map(|entries| Consumed::new(entries).unwrap())
        .boxed()
}

fn order() -> BoxedStrategy<Order> {
    any::<(u64, u64)>().prop_map(|(epoch, sequence)| Order { epoch, sequence }).boxed()
}

pub(crate) fn advertisement() -> BoxedStrategy<Advertisement> {
    let sizes = [amounts(0).boxed(), amounts(0).boxed(), amounts(0).boxed()];
    let when = (moment(), option::of(order()));
    let more = (consumed(), option::of(cost()), labels(), option::of(line()));
    (line(), when, sizes, more)
        .prop_map(|(name, (timestamp, order), sizes, more)| {
            let [capacity, allocatable, allocated] = sizes;
            let (consumed, cost, labels, endpoint) = more;
            Advertisement {
                name,
                timestamp,
                order,
                capacity,
                allocatable,
                allocated,
                consumed,
                cost,
                labels,
                endpoint,
            }
        })
        .boxed()
}

pub(crate) fn holding() -> BoxedStrategy<Holding> {
    (any::<u128>(), cluster(), amounts(1), option::of(moment()))
        .prop_map(|(bits, requester, amounts, expires_at)| Holding {
            reservation: id(bits),
            ask: Ask::new(requester, amounts, Terms::default()).unwrap(),
            expires_at,
        })
        .boxed()
}

fn terms() -> BoxedStrategy<Terms> {
    let duration =
        (MIN_DURATION.as_nanos()..=MAX_DURATION.as_nanos()).prop_map(Duration::from_nanos);
    let ceiling =
        (price(), currency()).prop_map(|(amount, currency)| PriceCeiling { amount, currency });
    let strategy = option::of(prop::sample::select(Choice::ALL.to_vec()));
    (
        any::<i32>(),
        option::of(duration),
        option::of(cluster()),
        strategy,
        labels(),
        labels(),
        option::of(ceiling),
    )
        .prop_map(|(priority, duration, target, strategy, required, preferred, ceiling)| Terms {
            priority,
            duration,
            target,
            strategy,
            required,
            preferred,
            ceiling,
        })
        .boxed()
}

pub(crate) fn ask() -> BoxedStrategy<Ask> {
    (cluster(), amounts(1), terms())
        .prop_map(|(requester, amounts, terms)| Ask::new(requester, amounts, terms).unwrap())
        .boxed()
}
