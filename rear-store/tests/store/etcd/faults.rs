//! What can happen to etcd: it does not answer, it is full, it was brought back to an older state, a newer broker writes.

use rear_engine::testing::id;
use rear_engine::{Command, Duration, Policy};
use rear_store::clock::{Clock, SystemClock};
use rear_store::records::Table;
use rear_store::records::head::{open_applied, seal_head};
use rear_store::shared::{BatchId, Entry, Head, hash_of};
use rear_store::timekeeper::Clocks;
use rear_store::{Batch, Store, SubmitError};
use rear_testbed::{Etcd, Gateway, Members, Proxy, eventually};

use super::{Place, advertise, end_the_same, node, release, reserve, snapshot_after, start};
use crate::sharing::of_the_next_program;

/// Where a store has followed its journal to.
fn applied(store: &Store) -> Head {
    let rows = store.reader().snapshot().unwrap();
    open_applied(&rows.get(Table::Meta, b"applied").unwrap().unwrap()).unwrap()
}

#[test]
fn who_asks_while_etcd_is_stopped_is_told_and_all_agree_afterwards() {
    let mut etcd = Etcd::start(Members::One).unwrap();
    let place = Place::on(etcd.endpoints());
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "4");
    end_the_same(&[&a, &b]);
    etcd.member(0).unwrap().pause().unwrap();
    // Its put may still be on its way when the caller is told.
    let told = a.submit(reserve(1, Some("k"))).unwrap_err();
    assert!(matches!(told, SubmitError::NotDurable(_) | SubmitError::CutOff(_)), "{told}");
    let told = a.submit(reserve(2, None)).unwrap_err();
    assert!(matches!(told, SubmitError::CutOff(_)), "nothing is decided before that: {told}");
    assert!(eventually(|| a.standing()?.stale()).is_some());
    let then = a.view().now();
    eventually(|| (a.view().now() > then).then_some(())).expect("time goes on for readers");
    etcd.member(0).unwrap().resume().unwrap();
    let granted = eventually(|| b.submit(reserve(3, Some("k"))).ok()).unwrap();
    // Under the same key there is one, whichever of the two it became.
    let kept = granted.reservation.unwrap().id;
    assert!(kept == id(1) || kept == id(3));
    let again = eventually(|| a.submit(reserve(4, Some("k"))).ok()).unwrap();
    assert_eq!(again.reservation.unwrap().id, kept);
    end_the_same(&[&a, &b]);
    assert_eq!(a.view().counts().reserved, 1);
    assert_eq!(a.standing().unwrap().stale(), None);
}

#[test]
fn an_etcd_that_is_full_grants_nothing_and_says_so() {
    let small = ["--quota-backend-bytes=16777216"];
    let etcd = Etcd::start_with(Members::One, &small).unwrap();
    let (place, node) = (Place::on(etcd.endpoints()), Gateway::of(&etcd.endpoints()[0]));
    let a = start(&place, "a");
    advertise(&a, "4");
    a.submit(reserve(1, None)).unwrap();
    let large = vec![7; 512 << 10];
    let mut said = String::new();
    let full = || {
        said = node.put("/full", &large);
        said.contains("space exceeded").then_some(())
    };
    eventually(full).unwrap_or_else(|| panic!("{said}"));
    let told = a.submit(reserve(2, None)).unwrap_err();
    assert!(matches!(&told, SubmitError::CutOff(why) if why.contains("space exceeded")), "{told}");
    assert_eq!(a.view().counts().reserved, 1, "no half grant");
    // What an operator does.
    assert!(node.compact());
    node.defragment();
    node.disarm();
    eventually(|| a.submit(reserve(3, None)).ok()).unwrap();
    let b = start(&place, "b");
    end_the_same(&[&a, &b]);
    assert_eq!(b.view().counts().reserved, 2);
}

/// Etcd looks for space before it orders a put and once more when it applies it: then it says that there is none, and has put it.
#[test]
fn nobody_is_told_that_nothing_has_changed_where_etcd_becomes_full_meanwhile() {
    let small = ["--quota-backend-bytes=16777216"];
    let etcd = Etcd::start_with(Members::One, &small).unwrap();
    let place = Place::on(etcd.endpoints());
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "1M");
    let fill = || {
        let node = Gateway::of(&etcd.endpoints()[0]);
        while !node.put("/full", &vec![7; 128 << 10]).contains("space exceeded") {}
    };
    let ask = |store: &Store, first: u128| {
        let mut granted = first;
        loop {
            match store.submit(reserve(granted, None)) {
                Ok(_) => granted += 1,
                Err(told) => return (granted, told),
            }
        }
    };
    let told = std::thread::scope(|scope| {
        (0..6).for_each(|_| drop(scope.spawn(fill)));
        let asking =
            [(&a, 1), (&b, 1_000_000)].map(|(store, from)| scope.spawn(move || ask(store, from)));
        asking.map(|asking| asking.join().unwrap())
    });
    let node = Gateway::of(&etcd.endpoints()[0]);
    assert!(node.compact());
    node.defragment();
    node.disarm();
    eventually(|| a.submit(reserve(900_000, None)).ok()).unwrap();
    eventually(|| b.submit(reserve(900_001, None)).ok()).unwrap();
    for (number, told) in told {
        let is_there = a.view().fleet().reservation(id(number)).is_some();
        let said_not = matches!(told, SubmitError::CutOff(_));
        assert!(!(is_there && said_not), "{number} stands, and its caller was told: {told}");
    }
    end_the_same(&[&a, &b]);
}

#[test]
fn an_older_state_of_etcd_is_noticed_and_nothing_is_granted() {
    let place = Place::new();
    let a = start(&place, "a");
    advertise(&a, "4");
    let old = seal_head(&applied(&a)).unwrap();
    a.submit(reserve(1, None)).unwrap();
    drop(Gateway::of(&node()).put(&format!("{}/head", place.options.prefix), &old));
    let told = eventually(|| match a.submit(reserve(2, None)) {
        Err(SubmitError::CutOff(why)) => Some(why),
        _ => None,
    });
    assert!(told.unwrap().contains("administrator"));
    assert_eq!(a.view().counts().reserved, 1);
    let trouble = || a.standing()?.trouble.filter(|why| why.contains("older state"));
    eventually(trouble).expect("it is told where an operator looks");
    // Also after a restart.
    drop(a);
    let a = start(&place, "a");
    assert!(matches!(a.submit(release(1)), Err(SubmitError::CutOff(_))));
}

#[test]
fn what_only_one_broker_has_is_not_buried_by_a_snapshot_of_those_who_went_on_without_it() {
    let mut place = Place::new();
    place.options.snapshot_every = 50;
    let a = start(&place, "a");
    advertise(&a, "1000");
    let old = seal_head(&applied(&a)).unwrap();
    a.submit(reserve(1, None)).unwrap();
    let followed = a.view().position();
    let (prefix, number) = (&place.options.prefix, followed.number);
    Gateway::of(&node()).remove(&format!("{prefix}/entries/{:020}/{number:020}", 1));
    drop(Gateway::of(&node()).put(&format!("{prefix}/head"), &old));
    let refused = || matches!(a.submit(release(1)), Err(SubmitError::CutOff(_))).then_some(());
    eventually(refused).unwrap();
    // One that has never followed it cannot notice.
    let c = start(&place, "c");
    for round in 2..600 {
        eventually(|| c.submit(reserve(round, None)).ok()).unwrap();
    }
    snapshot_after(&c, 250);
    let told = a.submit(release(1)).unwrap_err();
    assert!(matches!(&told, SubmitError::CutOff(why) if why.contains("administrator")), "{told}");
    assert_eq!((a.view().position(), a.view().counts().reserved), (followed, 1));
    assert!(a.view().fleet().reservation(id(1)).is_some());
    assert!(c.view().fleet().reservation(id(1)).is_none());
}

fn reserve_for_an_hour(number: u128) -> Command {
    crate::stage::reserve_for(number, "1", 3600)
}

/// A clock that is wrong.
struct Ahead(SystemClock);

impl Clock for Ahead {
    fn read(&self) -> Clocks {
        let clocks = self.0.read();
        Clocks { wall: clocks.wall.plus(Duration::from_seconds(3 * 3600)), ..clocks }
    }
}

#[test]
fn a_wrong_clock_is_not_believed_because_nobody_could_be_asked() {
    let place = Place::new();
    let a = start(&place, "a");
    advertise(&a, "4");
    a.submit(reserve_for_an_hour(1)).unwrap();
    let way = Proxy::to(node().trim_start_matches("http://").parse().unwrap()).unwrap();
    let mut by_the_way = Place::on(vec![format!("http://{}", way.address)]);
    by_the_way.options.prefix.clone_from(&place.options.prefix);
    drop(start(&by_the_way, "b"));
    way.cut();
    let journal = by_the_way.open_as("b", 7);
    let b = Store::start(journal, Policy::default(), Ahead(SystemClock::default())).unwrap();
    assert!(b.standing().unwrap().stale().is_some(), "nobody knows how old what it shows is");
    way.mend();
    let followed = || (b.standing()?.applied >= a.view().position()).then_some(());
    a.submit(reserve(2, None)).unwrap();
    eventually(followed).unwrap();
    let told = eventually(|| match b.submit(reserve(3, None)) {
        Err(SubmitError::ClockJumped(_)) => Some(()),
        Err(_) => None,
        Ok(_) => panic!("it has granted by a clock that is hours ahead"),
    });
    told.expect("the clock is told");
    a.submit(release(2)).unwrap();
    assert_eq!(a.view().counts().reserved, 1, "nothing has ended hours too early");
}

#[test]
fn a_broker_that_meets_an_entry_of_a_newer_one_stops_and_changes_nothing() {
    let place = Place::new();
    let a = start(&place, "a");
    advertise(&a, "4");
    a.submit(reserve(1, None)).unwrap();
    let before = applied(&a);
    let batch = Batch::empty(before.position.next().unwrap(), before.time_mark);
    let (bytes, after) = Entry::seal(&before, BatchId { broker: 9, sequence: 1 }, &batch).unwrap();
    let bytes = of_the_next_program(bytes, batch.position);
    let after = Head { hash: hash_of(&bytes), ..after };
    let (incarnation, number) = (batch.position.incarnation, batch.position.number);
    let key = format!("{}/entries/{incarnation:020}/{number:020}", place.options.prefix);
    drop(Gateway::of(&node()).put(&key, &bytes));
    let head = format!("{}/head", place.options.prefix);
    drop(Gateway::of(&node()).put(&head, &seal_head(&after).unwrap()));
    let why = eventually(|| a.failure()).unwrap();
    assert!(why.contains("newer version of this program"), "{why}");
    assert_eq!(applied(&a).position, before.position);
}

#[test]
fn what_another_broker_cannot_read_is_not_written() {
    let place = Place::new();
    let a = start(&place, "a");
    advertise(&a, "4");
    // One that reads less than anything this program writes.
    let gateway = Gateway::of(&node());
    let older = format!("{}/brokers/{:032x}", place.options.prefix, 99);
    drop(gateway.put(&older, &[0, 0]));
    let mut number = 10;
    let told = eventually(|| {
        number += 1;
        // Until it has looked again who is there, it goes on.
        a.submit(reserve(number, None)).and_then(|_| a.submit(release(number))).err()
    });
    let told = told.unwrap().to_string();
    assert!(told.contains("reads entries up to shape 0 only"), "{told}");
    // Once it is gone, everything goes on, in the newest shape that all can read.
    gateway.remove(&older);
    eventually(|| a.submit(reserve(2, None)).ok()).unwrap();
    let b = start(&place, "b");
    end_the_same(&[&a, &b]);
}
