//! How much goes into one batch: all that waits, up to a number of bytes.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

use rear_engine::advertisement::{Consumed, Holding, MAX_CONSUMERS};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Change, Command, Duration, Resources, Terms};

use super::stage::{Hands, Watched, release, reserve, reserve_with, start};

/// How many commits these commands take when all of them wait while something else is committed.
fn commits_for(commands: Vec<Command>) -> usize {
    let (hands, (journal, open)) = (Hands::start(), Watched::gated());
    let store = start(journal.clone(), &hands);
    store.submit_with(advertise("p", &hands, 0, 0), |_| {});
    while journal.commits() == 0 {
        thread::yield_now();
    }
    for command in commands {
        store.submit_with(command, |outcome| drop(outcome.unwrap()));
    }
    for _ in 0..100 {
        open.send(()).unwrap();
    }
    drop(store);
    journal.commits() - 1
}

/// An advertisement that says what so many others consume, and that so many promises are kept.
fn advertise(name: &str, hands: &Hands, consumers: usize, held: u128) -> Command {
    let mut told = advertisement("1000", "1000Gi", hands.now());
    let consumer = |number| (cluster(&format!("c-{number}")), Resources::NONE);
    told.consumed = Consumed::new((0..consumers).map(consumer)).unwrap();
    let ask = ask("r", resources("1m", "1Mi"));
    let promise = |number| Holding { reservation: id(number), ask: ask.clone(), expires_at: None };
    let holding = (held > 0).then(|| (1..=held).map(promise).collect());
    Command::Advertise { cluster: cluster(name), advertisement: Box::new(told), holding }
}

#[test]
fn each_of_those_who_are_committed_together_is_told_what_it_has_brought_about() {
    let (hands, (journal, open)) = (Hands::start(), Watched::gated());
    let store = start(journal.clone(), &hands);
    let (tell, told) = mpsc::channel();
    let submit = |command| {
        let tell = tell.clone();
        store.submit_with(command, move |outcome| tell.send(outcome.unwrap().reservation).unwrap());
    };
    for command in [advertise("p", &hands, 0, 0), reserve(1, "1m")] {
        open.send(()).unwrap();
        submit(command);
        told.recv().unwrap();
    }
    submit(reserve(2, "1m"));
    while journal.commits() < 3 {
        thread::yield_now();
    }
    let by = Actor::Cluster(cluster("r"));
    let until = hands.now().plus(Duration::from_seconds(3600));
    submit(Command::Activate { id: id(1), by: by.clone() });
    submit(Command::Renew { id: id(1), until, by: by.clone() });
    submit(Command::Release { id: id(1), by });
    for _ in 0..2 {
        open.send(()).unwrap();
    }
    let left: Vec<_> = (0..4).map(|_| told.recv().unwrap().unwrap()).skip(1).collect();
    let phases: Vec<_> = left.iter().map(|left| left.phase.name()).collect();
    assert_eq!(phases, ["Active", "Active", "Released"]);
    assert_eq!([left[0].expires_at, left[1].expires_at], [None, Some(until)]);
    assert_eq!(journal.commits(), 4, "all three in one");
}

#[test]
fn a_batch_holds_one_sum_for_each_cluster_and_it_is_the_last() {
    let (hands, (journal, open)) = (Hands::start(), Watched::gated());
    let store = start(journal.clone(), &hands);
    for name in ["p", "q"] {
        open.send(()).unwrap();
        store.submit(advertise(name, &hands, 0, 0)).unwrap();
    }
    let submit = |command| store.submit_with(command, |outcome| drop(outcome.unwrap()));
    let reserve_at = |number, name| {
        let terms = Terms { target: Some(cluster(name)), ..Terms::default() };
        submit(reserve_with(number, "1m", terms));
    };
    reserve_at(1, "p");
    while journal.commits() < 3 {
        thread::yield_now();
    }
    submit(release(1));
    for (number, name) in [(2, "p"), (3, "q"), (4, "p")] {
        reserve_at(number, name);
    }
    (0..2).for_each(|_| open.send(()).unwrap());
    drop(store);
    let changes = journal.last().changes;
    let sums = changes.iter().filter_map(|change| match change {
        Change::Ledger { cluster, total } => Some((cluster.as_str(), *total)),
        _ => None,
    });
    let sums: BTreeMap<_, _> = sums.collect();
    let each = [("p", resources("2m", "2Mi")), ("q", resources("1m", "1Mi"))];
    assert_eq!(sums, BTreeMap::from(each));
    assert_eq!(changes.len(), 4 + sums.len(), "each reservation is told of: {changes:?}");
    let kept = journal.contents().ledgers;
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|(id, total)| sums.get(id.as_str()) == Some(total)), "{kept:?}");
}

#[test]
fn small_commands_that_wait_together_are_one_batch() {
    assert_eq!(commits_for((1..=4000).map(|number| reserve(number, "1m")).collect()), 1);
}

#[test]
fn large_commands_are_spread_over_batches() {
    let hands = Hands::start();
    let names: Vec<String> = (0..10).map(|number| format!("p-{number}")).collect();
    let ten = |consumers, held| {
        names.iter().map(|name| advertise(name, &hands, consumers, held)).collect()
    };
    assert_eq!(commits_for(ten(10, 10)), 1);
    assert_eq!(commits_for(ten(MAX_CONSUMERS, 0)), 2, "a megabyte each: five reach the limit");
    assert_eq!(commits_for(ten(0, 2046)), 3, "a mebibyte each: four are the limit");
}
