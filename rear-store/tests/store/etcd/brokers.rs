//! Several brokers on one ledger: nothing is granted twice, everyone ends with the same, and who comes later catches up.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Policy, Refusal, Terms};
use rear_store::clock::SystemClock;
use rear_store::etcd::{EtcdJournal, copy_from_etcd, copy_to_etcd};
use rear_store::{
    Commit, EventId, Journal, Memory, Position, RedbJournal, Store, SubmitError, backup,
};
use rear_testbed::eventually;

use super::{
    Place, advertise, dump, end_the_same, number, release, reserve, snapshot_after, start,
};
use crate::stage::Hands;

#[test]
fn what_one_broker_decides_the_others_show() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "4");
    let granted = a.submit(reserve(1, None)).unwrap();
    eventually(|| b.view().fleet().reservation(id(1)).cloned()).unwrap();
    assert!(b.view().position() >= granted.position);
    b.submit(release(1)).unwrap();
    eventually(|| {
        let view = a.view();
        view.fleet().reservation(id(1)).filter(|kept| !kept.phase.is_live()).map(drop)
    })
    .unwrap();
    // Events have the same names everywhere.
    let told = |store: &Store| {
        let all = store.events_after(EventId::end_of(Position::start_of(1)), None, 100).unwrap();
        all.events.iter().map(|told| (told.id, told.event.clone())).collect::<Vec<_>>()
    };
    end_the_same(&[&a, &b]);
    assert_eq!(told(&a), told(&b));
}

#[test]
fn who_waits_for_news_on_one_broker_hears_what_another_decided() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "4");
    eventually(|| b.view().fleet().cluster(&cluster("p")).map(drop)).unwrap();
    let mut news = b.subscribe(Some(&cluster("r")));
    news.mark_unchanged();
    a.submit(reserve(1, None)).unwrap();
    eventually(|| news.has_changed().unwrap().then_some(())).unwrap();
}

#[test]
fn a_refusal_knows_what_was_released_elsewhere() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "1");
    for round in 0..20 {
        let (granting, releasing) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        granting.submit(reserve(round, None)).unwrap();
        let full = releasing.submit(reserve(1000 + round, None)).unwrap_err();
        assert!(matches!(full, SubmitError::Refused(Refusal::NoRoom(_))), "{full}");
        releasing.submit(release(round)).unwrap();
    }
    end_the_same(&[&a, &b]);
}

#[test]
fn a_key_means_the_same_on_every_broker() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "4");
    let first = a.submit(reserve(1, Some("k"))).unwrap().reservation.unwrap();
    let again = b.submit(reserve(2, Some("k"))).unwrap().reservation.unwrap();
    assert_eq!(first.id, again.id);
    end_the_same(&[&a, &b]);
}

/// More ask than there is room for, everywhere at once.
#[test]
fn three_brokers_that_contend_grant_what_there_is_and_no_more() {
    let place = Place::new();
    let stores: Vec<Arc<Store>> =
        ["a", "b", "c"].iter().map(|name| Arc::new(start(&place, name))).collect();
    advertise(&stores[0], "40");
    let callers: Vec<_> = (0..12_u128)
        .map(|caller| {
            let store = stores[usize::try_from(caller).unwrap() % 3].clone();
            thread::spawn(move || {
                let asked = (0..10).map(|round| store.submit(reserve(caller * 100 + round, None)));
                let granted = asked.filter(|outcome| match outcome {
                    Ok(_) => true,
                    Err(SubmitError::Refused(Refusal::NoRoom(_))) => false,
                    Err(other) => panic!("{other}"),
                });
                granted.count()
            })
        })
        .collect();
    let granted: usize = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    assert_eq!(granted, 40);
    let stores: Vec<&Store> = stores.iter().map(|store| &**store).collect();
    end_the_same(&stores);
    assert_eq!(stores[0].view().counts().reserved, 40);
}

#[test]
fn a_broker_that_was_away_reads_what_it_missed() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "4");
    eventually(|| b.view().fleet().cluster(&cluster("p")).map(drop)).unwrap();
    drop(b);
    a.submit(reserve(1, None)).unwrap();
    let b = start(&place, "b");
    assert!(b.view().fleet().reservation(id(1)).is_some());
    end_the_same(&[&a, &b]);
}

#[test]
fn what_is_due_happens_once() {
    let place = Place::new();
    let hands = Hands::start();
    let begin =
        |name| Store::start(place.open_as(name, 7), Policy::default(), hands.clone()).unwrap();
    let (a, b) = (begin("a"), begin("b"));
    let told = Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("4", "64Gi", hands.now())),
        holding: None,
    };
    a.submit(told).unwrap();
    let terms = Terms { duration: Some("60s".parse().unwrap()), ..Terms::default() };
    let ask = Ask::new(cluster("r"), resources("1", "1Mi"), terms).unwrap();
    let by = Actor::Cluster(cluster("r"));
    a.submit(Command::Reserve { id: id(1), ask: Box::new(ask), key: None, by }).unwrap();
    hands.pass(61);
    let ended = |store: &Store| {
        let view = store.view();
        view.fleet().reservation(id(1)).filter(|kept| !kept.phase.is_live()).map(drop)
    };
    eventually(|| ended(&a)).unwrap();
    eventually(|| ended(&b)).unwrap();
    end_the_same(&[&a, &b]);
    let expired = a.meters().read().expired + b.meters().read().expired;
    assert_eq!(expired, 1);
}

#[test]
fn a_provider_of_thousands_is_forgotten_in_more_than_one_entry() {
    let place = Place::new();
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "5000");
    for thousand in 0..5 {
        let (told, outcomes) = channel();
        for number in 0..1000 {
            let told = told.clone();
            let number = thousand * 1000 + number;
            // As long as a key may be, so that fewer promises are too many.
            let reserve = reserve(number, Some(&format!("{number:0255}")));
            a.submit_with(reserve, move |outcome| told.send(outcome).unwrap());
        }
        drop(told);
        assert!(outcomes.iter().all(|outcome| outcome.is_ok()));
    }
    let before = a.view().position().number;
    let by = Actor::Administrator("operator".parse().unwrap());
    let gone = a.submit(Command::Forget { cluster: cluster("p"), by }).unwrap().position.number;
    assert!(gone - before > 1, "{gone} after {before}");
    end_the_same(&[&a, &b]);
    assert_eq!(b.view().counts().reserved, 0);
    assert!(b.view().fleet().cluster(&cluster("p")).is_none());
}

#[test]
fn a_newcomer_begins_with_the_snapshot_when_old_entries_are_gone() {
    let mut place = Place::new();
    place.options.snapshot_every = 50;
    let a = start(&place, "a");
    advertise(&a, "1000");
    for round in 0..400 {
        a.submit(reserve(round, None)).unwrap();
    }
    snapshot_after(&a, 250);
    let b = start(&place, "b");
    end_the_same(&[&a, &b]);
    assert_eq!(b.view().counts().reserved, 400);
}

#[test]
fn a_file_that_is_older_than_the_oldest_entry_is_replaced_by_the_snapshot() {
    let mut place = Place::new();
    place.options.snapshot_every = 50;
    let (a, b) = (start(&place, "a"), start(&place, "b"));
    advertise(&a, "1000");
    end_the_same(&[&a, &b]);
    drop(b);
    for round in 0..400 {
        a.submit(reserve(round, None)).unwrap();
    }
    snapshot_after(&a, 250);
    let b = start(&place, "b");
    end_the_same(&[&a, &b]);
    b.submit(release(399)).unwrap();
    end_the_same(&[&a, &b]);
}

#[test]
fn a_ledger_goes_to_etcd_and_back_whole() {
    let place = Place::new();
    let memory = Memory::new(99, 1, 1).unwrap();
    let before = {
        let store =
            Store::start(memory.clone(), Policy::default(), SystemClock::default()).unwrap();
        advertise(&store, "40");
        for round in 0..30 {
            store.submit(reserve(round, None)).unwrap();
        }
        dump(&store)
    };
    let reader = memory.reader();
    let copied = copy_to_etcd(&*reader, place.options.clone(), number()).unwrap();
    assert_eq!(copied.ledger, 99);
    assert!(copy_to_etcd(&*reader, place.options.clone(), number()).is_err(), "not overwritten");
    let back = place.file("back");
    copy_from_etcd(place.options.clone(), &back, number(), Commit::TwoPhase).unwrap();
    let file = RedbJournal::open(&back, Commit::TwoPhase).unwrap();
    let mut after = Vec::new();
    backup::write(&*file.reader(), &mut after).unwrap();
    assert_eq!(before, after);
    // And brokers go on from it.
    let a = start(&place, "a");
    assert_eq!(a.view().counts().reserved, 30);
    a.submit(release(3)).unwrap();
    let b = start(&place, "b");
    end_the_same(&[&a, &b]);
}

#[test]
fn a_file_of_another_ledger_is_not_taken_for_this_one() {
    let place = Place::new();
    drop(RedbJournal::create(&place.file("a"), 5, Commit::TwoPhase).unwrap());
    let options = place.options.clone();
    let refused = EtcdJournal::open(options, &place.file("a"), 7, number(), Commit::TwoPhase);
    assert!(refused.err().unwrap().to_string().contains("store copy"));
}
