//! What a cluster says again: seen at once, known to the writer before it decides, and never written.

use rear_engine::advertisement::Order;
use rear_engine::testing::{advertisement, cluster};
use rear_engine::{Advertisement, Command, Timestamp};
use rear_store::{Memory, Store};

use super::stage::{Hands, Watched, advertise, reserve, start};

fn told(store: &Store) -> Advertisement {
    let view = store.view();
    view.fleet().cluster(&cluster("p")).unwrap().record().advertisement().unwrap().clone()
}

/// The writer looks at the clock, and readers see what time it is.
fn look_at_the_clock(store: &Store) {
    store.submit(Command::Hear { cluster: cluster("x") }).unwrap();
}

fn ordered(hands: &Hands, epoch: u64, sequence: u64) -> Command {
    let order = Some(Order { epoch, sequence });
    let advertisement = Advertisement { order, ..advertisement("4", "1Gi", hands.now()) };
    Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement),
        holding: None,
    }
}

#[test]
fn the_same_again_is_seen_at_once_and_not_written() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let (commits, position) = (journal.commits(), store.view().position());
    hands.pass(30);
    let later: Timestamp = hands.now();
    store.refresh(advertise("4", "1Gi", &hands)).unwrap();
    assert_eq!(told(&store).timestamp, later);
    assert_eq!(store.view().position(), position);
    look_at_the_clock(&store);
    assert_eq!(told(&store).timestamp, later);
    assert_eq!(journal.commits(), commits + 1, "for the cluster that was heard, and nothing else");
}

#[test]
fn the_writer_counts_it_as_a_sign_of_freshness() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    // Stale after ten minutes; what would be durable again is submitted, as a broker does.
    for _ in 0..10 {
        hands.pass(100);
        look_at_the_clock(&store);
        if let Err(command) = store.refresh(advertise("4", "1Gi", &hands)) {
            store.submit(command).unwrap();
        }
    }
    store.submit(reserve(1, "1")).unwrap();
    assert_eq!(store.meters().read().became_stale, 0);
}

#[test]
fn what_has_to_be_decided_is_given_back() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    assert!(store.refresh(advertise("4", "1Gi", &hands)).is_err(), "nobody knows it yet");
    store.submit(ordered(&hands, 1, 5)).unwrap();
    store.refresh(ordered(&hands, 1, 6)).unwrap();
    assert!(store.refresh(ordered(&hands, 1, 5)).is_err(), "overtaken");
    assert!(store.refresh(ordered(&hands, 2, 1)).is_err(), "a restart is remembered");
    assert!(store.refresh(advertise("5", "1Gi", &hands)).is_err(), "it says something else");
    assert!(store.refresh(reserve(1, "1")).is_err(), "no advertisement");
    look_at_the_clock(&store);
    hands.pass(5 * 60);
    look_at_the_clock(&store);
    assert!(store.refresh(ordered(&hands, 1, 7)).is_err(), "its freshness is made durable again");
}

#[test]
fn after_a_restore_what_a_cluster_holds_is_decided() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 2, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.refresh(advertise("4", "1Gi", &hands)).unwrap();
    let reporting = || match advertise("4", "1Gi", &hands) {
        Command::Advertise { cluster, advertisement, .. } => {
            Command::Advertise { cluster, advertisement, holding: Some(Vec::new()) }
        }
        other => other,
    };
    let command = store.refresh(reporting()).unwrap_err();
    store.submit(command).unwrap();
    store.refresh(reporting()).unwrap();
    store.submit(reserve(1, "1")).unwrap();
}

#[test]
fn a_store_that_has_stopped_takes_no_word() {
    let hands = Hands::start();
    let journal = Watched::that_fails_for_good();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    journal.fail_after(0);
    store.submit(reserve(1, "1")).unwrap_err();
    while store.failure().is_none() {
        std::thread::yield_now();
    }
    assert!(store.refresh(advertise("4", "1Gi", &hands)).is_err());
}
