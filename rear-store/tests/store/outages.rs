//! Words that were acknowledged by a broker that others could not be asked through: they are true of the time at which they
//! were said, and of nothing else.

use std::sync::Arc;

use rear_engine::advertisement::Order;
use rear_engine::testing::{advertisement, cluster, resources};
use rear_engine::{Actor, Advertisement, Change, Command, Resources};
use rear_store::{Batch, Store, SubmitError};

use super::board::{Board, Strings};
use super::stage::{Hands, reserve};

/// What a cluster has, by the clock of now; without an order, as agents of the earlier system.
fn says(name: &str, cpu: &str, hands: &Hands) -> Command {
    Command::Advertise {
        cluster: cluster(name),
        advertisement: Box::new(advertisement(cpu, "1Gi", hands.now())),
        holding: None,
    }
}

fn counted(name: &str, cpu: &str, sequence: u64, hands: &Hands) -> Command {
    let order = Some(Order { epoch: 1, sequence });
    let advertisement = Advertisement { order, ..advertisement(cpu, "1Gi", hands.now()) };
    let advertisement = Box::new(advertisement);
    Command::Advertise { cluster: cluster(name), advertisement, holding: None }
}

/// A sign of life, whether or not it can be written: once it is answered, all before it is done.
fn look(store: &Store) {
    drop(store.submit(Command::Hear { cluster: cluster("r") }));
}

/// Two stores on one board who know a cluster, of which the first is cut off just after it has heard of it once more.
struct Apart {
    hands: Hands,
    here: Store,
    strings: Strings,
    there: Store,
}

fn apart() -> Apart {
    let (hands, board) = (Hands::start(), Board::default());
    let (here, strings) = board.store(1000, false, &hands);
    here.submit(says("x", "2", &hands)).unwrap();
    look(&here);
    let (there, _) = board.store(2000, true, &hands);
    strings.pull().cut_off = true;
    hands.pass(30);
    look(&here);
    here.refresh(says("x", "2", &hands)).expect("it says the same again");
    Apart { hands, here, strings, there }
}

impl Apart {
    /// So much time, in which both look around now and then.
    fn pass(&self, seconds: i64) {
        for _ in 0..seconds / 30 {
            self.hands.pass(30);
            look(&self.here);
            look(&self.there);
        }
    }

    fn together_again(&self) {
        self.strings.pull().cut_off = false;
        look(&self.here);
        look(&self.there);
    }
}

fn is_stale(store: &Store) -> Option<bool> {
    let view = store.view();
    view.fleet().cluster(&cluster("x")).map(|known| known.record().stale)
}

fn size(store: &Store) -> Resources {
    let view = store.view();
    view.fleet().cluster(&cluster("x")).unwrap().record().advertisement().unwrap().allocatable
}

fn cores(cpu: &str) -> Resources {
    resources(cpu, "1Gi")
}

#[test]
fn whoever_fell_silent_during_an_outage_is_not_fresh_after_it() {
    let apart = apart();
    apart.pass(15 * 60);
    assert_eq!(is_stale(&apart.there), Some(true));
    apart.together_again();
    assert_eq!((is_stale(&apart.here), is_stale(&apart.there)), (Some(true), Some(true)));
    let refused = apart.here.submit(reserve(1, "1"));
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
}

#[test]
fn whoever_was_forgotten_during_an_outage_stays_so() {
    let apart = apart();
    let by = Actor::Administrator("operator".parse().unwrap());
    apart.there.submit(Command::Forget { cluster: cluster("x"), by }).unwrap();
    apart.pass(60);
    apart.together_again();
    assert_eq!((is_stale(&apart.here), is_stale(&apart.there)), (None, None));
}

#[test]
fn what_was_said_elsewhere_during_an_outage_is_not_replaced_by_what_was_said_before() {
    let apart = apart();
    apart.hands.pass(1);
    apart.there.submit(says("x", "1", &apart.hands)).unwrap();
    apart.pass(90);
    apart.together_again();
    assert_eq!((size(&apart.here), size(&apart.there)), (cores("1"), cores("1")));
}

/// What must be durable of words that say what is known already.
fn words(batch: &Batch) -> usize {
    let word = |change: &&Change| matches!(change, Change::Refreshed { durable: true, .. });
    batch.changes.iter().filter(word).count()
}

#[test]
fn words_of_an_outage_are_no_entry_that_is_too_large() {
    let (hands, board) = (Hands::start(), Board::default());
    let (store, strings) = board.store(1000, false, &hands);
    let names = ["p", "q", "s", "t"];
    for name in names {
        store.submit(says(name, "2", &hands)).unwrap();
    }
    strings.pull().too_large = Some(Box::new(|batch| words(batch) > 2));
    strings.pull().cut_off = true;
    for name in names {
        store.refresh(says(name, "2", &hands)).expect("it says the same again");
    }
    for _ in 0..6 {
        hands.pass(30);
        look(&store);
    }
    strings.pull().cut_off = false;
    store.submit(reserve(1, "1")).unwrap();
}

#[test]
fn a_word_that_overtakes_another_on_its_way_is_the_one_that_counts() {
    let (hands, board) = (Hands::start(), Board::default());
    let (store, strings) = board.store(1000, false, &hands);
    let store = Arc::new(store);
    store.submit(counted("x", "2", 5, &hands)).unwrap();
    let (again, newest) = (store.clone(), counted("x", "2", 7, &hands));
    strings.pull().meanwhile = Some(Box::new(move || {
        again.refresh(newest).expect("readers know nothing else");
    }));
    store.submit(counted("x", "1", 6, &hands)).unwrap();
    look(&store);
    assert_eq!(size(&store), cores("2"));
}
