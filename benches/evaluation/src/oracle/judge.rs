//! The rules: filter, score, select.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::price::{billionths, price};
use super::quantity::amounts;
use super::{Lack, Offer, Verdict, Wish, World};

const BILLION: i128 = 1_000_000_000;
const NAMES: [&str; 4] = ["cpu", "memory", "gpu", "storage"];

/// Of a balanced score, in percent.
const COST_SHARE: i128 = 30;

/// A cluster that fits.
struct Fit<'a> {
    offer: &'a Offer,
    available: [i128; 4],
    price: Option<i128>,
}

/// What a broker has to say to this wish.
#[must_use]
pub fn judge(world: &World, wish: &Wish) -> Verdict {
    let wanted = amounts(&wish.amounts);
    let mut verdict = Verdict::default();
    let (mut fits, mut closest) = (Vec::new(), Vec::new());
    for offer in &world.offers {
        let available = available(world, offer);
        let price = charge_in(world, wish, offer).map(|charge| price(charge, wanted));
        match lack(wish, offer, wanted, available, price) {
            // Of those that nobody asked for, only what they would cost is of interest.
            Some(_) if !is_considered(wish, offer) => {}
            Some(lack) => {
                let part = part_there(wanted, available);
                closest.push((class(&lack), Reverse(part), offer.id.clone()));
                verdict.lacking.insert(offer.id.clone(), lack);
            }
            None => fits.push(Fit { offer, available, price }),
        }
    }
    if let Some(target) = &wish.target
        && !world.offers.iter().any(|offer| offer.id == *target)
    {
        verdict.lacking.insert(target.clone(), Lack { reason: "unknown", short_of: None });
        closest.push((1, Reverse(0), target.clone()));
    }
    closest.sort();
    verdict.closest = closest.into_iter().map(|(.., id)| id).collect();
    let prices: Vec<i128> = fits.iter().filter_map(|fit| fit.price).collect();
    let range = prices.iter().min().copied().zip(prices.iter().max().copied());
    let considered = fits.iter().filter(|fit| is_considered(wish, fit.offer));
    let scored = considered.map(|fit| {
        let (value, out_of) = score(wish, wanted, fit, range);
        let points = value * 10_000 / out_of;
        verdict
            .fitting
            .insert(fit.offer.id.clone(), format!("{}.{:02}", points / 100, points % 100));
        let preferred = has_how_many(&fit.offer.labels, &wish.preferred);
        // The most preferred labels, then the highest score, then the first name.
        (preferred, value, Reverse(&fit.offer.id))
    });
    verdict.target = scored.max().map(|(.., Reverse(id))| id.clone());
    verdict
}

fn is_considered(wish: &Wish, offer: &Offer) -> bool {
    wish.target.as_ref().is_none_or(|target| *target == offer.id)
}

/// allocatable − allocated − what others were promised and do not use yet.
fn available(world: &World, offer: &Offer) -> [i128; 4] {
    let mut promised: BTreeMap<&str, [i128; 4]> = BTreeMap::new();
    for live in world.promises.iter().filter(|live| live.provider == offer.id) {
        let sum = promised.entry(&live.requester).or_default();
        sum.iter_mut().zip(amounts(&live.amounts)).for_each(|(sum, amount)| *sum += amount);
    }
    let (all, used) = (amounts(&offer.allocatable), amounts(&offer.allocated));
    std::array::from_fn(|at| {
        let outstanding = promised.iter().map(|(requester, sum)| {
            let own = offer.consumed.iter().filter(|(who, _)| who == requester);
            let consumed: i128 = own.map(|(_, texts)| amounts(texts)[at]).sum();
            (sum[at] - consumed).max(0)
        });
        all[at] - used[at] - outstanding.sum::<i128>()
    })
}

/// What it charges in the currency that counts.
fn charge_in<'a>(world: &World, wish: &Wish, offer: &'a Offer) -> Option<&'a super::Charge> {
    let currency = wish.ceiling.as_ref().map_or(&world.currency, |(_, currency)| currency);
    offer.charge.as_ref().filter(|charge| charge.currency == *currency)
}

/// The first reason in the order of the page.
fn lack(
    wish: &Wish,
    offer: &Offer,
    wanted: [i128; 4],
    available: [i128; 4],
    price: Option<i128>,
) -> Option<Lack> {
    let because = |reason| Some(Lack { reason, short_of: None });
    if offer.id == wish.requester {
        return because("own-cluster");
    }
    if available.iter().any(|free| *free < 0) {
        return because("overcommitted");
    }
    let short = (0..4).find(|at| wanted[*at] > available[*at]);
    if let Some(at) = short {
        let short_of = Some((NAMES[at], wanted[at], available[at]));
        return Some(Lack { reason: "insufficient", short_of });
    }
    if has_how_many(&offer.labels, &wish.required) < wish.required.len() {
        return because("label");
    }
    let (ceiling, _) = wish.ceiling.as_ref()?;
    match price {
        None => because("unpriced"),
        Some(price) if price > billionths(ceiling) => because("too-expensive"),
        Some(_) => None,
    }
}

/// Of the request, in billionths, what is there in the dimension that lacks most.
fn part_there(wanted: [i128; 4], available: [i128; 4]) -> i128 {
    let part = |at: usize| available[at].clamp(0, wanted[at]) * BILLION / wanted[at];
    (0..4).filter(|at| wanted[*at] > 0).map(part).min().unwrap_or(0)
}

/// Those that lack something of this request, then those that may get nothing at the moment, then the requester.
fn class(lack: &Lack) -> u8 {
    match lack.reason {
        "own-cluster" => 2,
        "overcommitted" | "unknown" => 1,
        _ => 0,
    }
}

fn has_how_many(labels: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> usize {
    wanted.iter().filter(|(key, value)| labels.get(*key) == Some(*value)).count()
}

/// A value, and what it could be at most.
fn score(
    wish: &Wish,
    wanted: [i128; 4],
    fit: &Fit<'_>,
    range: Option<(i128, i128)>,
) -> (i128, i128) {
    let strategy = wish.strategy.as_deref().unwrap_or("headroom");
    let all = amounts(&fit.offer.allocatable);
    let (mut room, mut counted) = (0, 0);
    for at in (0..4).filter(|at| *at < 2 || wanted[*at] > 0) {
        let share =
            if all[at] == 0 { 0 } else { (fit.available[at] - wanted[at]) * BILLION / all[at] };
        room += if strategy == "binpack" { BILLION - share } else { share };
        counted += 1;
    }
    let cheap = match (fit.price, range) {
        (Some(_), Some((low, high))) if low == high => BILLION,
        (Some(price), Some((low, high))) => (high - price) * BILLION / (high - low),
        _ => 0,
    };
    match strategy {
        "cheapest" => (cheap, BILLION),
        "balanced" => {
            ((100 - COST_SHARE) * room + COST_SHARE * counted * cheap, 100 * counted * BILLION)
        }
        _ => (room, counted * BILLION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Charge, Live, Texts};

    fn texts(cpu: &str, memory: &str) -> Texts {
        Texts { cpu: cpu.to_owned(), memory: memory.to_owned(), ..Texts::default() }
    }

    fn offer(id: &str, cpu: &str, memory: &str, rate: Option<&str>) -> Offer {
        let charge = rate.map(|rate| Charge {
            cpu: rate.to_owned(),
            memory: "0".to_owned(),
            gpu: None,
            currency: "EUR".to_owned(),
        });
        Offer {
            id: id.to_owned(),
            allocatable: texts(cpu, memory),
            allocated: texts("0", "0"),
            charge,
            ..Offer::default()
        }
    }

    fn world(offers: Vec<Offer>) -> World {
        World { offers, promises: Vec::new(), currency: "EUR".to_owned() }
    }

    fn wish(cpu: &str, memory: &str, strategy: Option<&str>) -> Wish {
        Wish {
            requester: "r".to_owned(),
            amounts: texts(cpu, memory),
            strategy: strategy.map(str::to_owned),
            ..Wish::default()
        }
    }

    /// The examples of the page.
    #[test]
    fn the_worked_examples_come_out() {
        let one = world(vec![offer("a", "8", "8Gi", None)]);
        assert_eq!(judge(&one, &wish("2", "2Gi", None)).fitting["a"], "75.00");
        let third = world(vec![offer("a", "3", "3Gi", None)]);
        assert_eq!(judge(&third, &wish("1", "1Gi", None)).fitting["a"], "66.66");
        let two = world(vec![
            offer("cheap", "8", "64Gi", Some("0.1")),
            offer("dear", "64", "64Gi", Some("0.2")),
        ]);
        let verdict = judge(&two, &wish("2", "16Gi", Some("balanced")));
        assert_eq!(
            (&verdict.fitting["cheap"][..], &verdict.fitting["dear"][..]),
            ("82.50", "60.15")
        );
        assert_eq!(verdict.target.as_deref(), Some("cheap"));
    }

    #[test]
    fn a_target_has_the_score_that_it_has_among_all() {
        let two = world(vec![
            offer("cheap", "8", "64Gi", Some("0.1")),
            offer("dear", "64", "64Gi", Some("0.2")),
        ]);
        let target = Some("dear".to_owned());
        let verdict = judge(&two, &Wish { target, ..wish("2", "16Gi", Some("balanced")) });
        assert_eq!(verdict.fitting, BTreeMap::from([("dear".to_owned(), "60.15".to_owned())]));
        assert_eq!(verdict.target.as_deref(), Some("dear"));
    }

    #[test]
    fn what_a_borrower_uses_is_not_counted_twice() {
        let mut lent = world(vec![offer("a", "10", "10Gi", None)]);
        let amounts = texts("4", "4Gi");
        let live =
            Live { requester: "q".to_owned(), provider: "a".to_owned(), amounts: amounts.clone() };
        lent.promises.push(live);
        let free = |world: &World| available(world, &world.offers[0])[0];
        assert_eq!(free(&lent), 6000);
        lent.offers[0].allocated = amounts.clone();
        lent.offers[0].consumed = vec![("q".to_owned(), amounts)];
        assert_eq!(free(&lent), 6000);
    }

    /// The example of the page.
    #[test]
    fn the_closest_are_told_first() {
        let clusters = [("far", "1", "10Gi"), ("lopsided", "10", "5Gi"), ("near", "9", "10Gi")];
        let fleet = clusters.map(|(id, cpu, memory)| offer(id, cpu, memory, None));
        let verdict = judge(&world(fleet.into()), &wish("10", "10Gi", None));
        assert_eq!(verdict.closest, ["near", "lopsided", "far"]);
        assert_eq!(verdict.lacking["lopsided"].short_of, Some(("memory", 10 << 30, 5 << 30)));
    }

    #[test]
    fn ties_go_to_the_first_name_and_the_first_lack_is_told() {
        let same = world(vec![offer("b", "8", "8Gi", None), offer("a", "8", "8Gi", None)]);
        assert_eq!(judge(&same, &wish("1", "1Gi", None)).target.as_deref(), Some("a"));
        let verdict = judge(&same, &wish("16", "80Gi", None));
        assert_eq!(verdict.target, None);
        assert_eq!(verdict.lacking["a"].short_of, Some(("cpu", 16_000, 8000)));
    }
}
