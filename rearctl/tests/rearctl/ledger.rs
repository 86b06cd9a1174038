//! Fleets of any size, written into a ledger before its broker starts: clusters would have to be let in one by one.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use rear_engine::testing::fleets::{Dice, request};
use rear_engine::testing::{cluster, id, labels, of_size};
use rear_engine::{Actor, Command, Policy, Resources, Timestamp};
use rear_store::clock::{Clock, SystemClock};
use rear_store::{Commit, RedbJournal, Store};

/// As many are under way at once: below what the store lets wait.
const AT_ONCE: usize = 2000;

const GIB: u64 = 1 << 30;

/// Makes the ledger of a data directory: the same clusters and promises for the same numbers.
pub(crate) fn fill(data: &Path, clusters: u64, reservations: u64) {
    let journal = RedbJournal::create(&data.join("ledger.redb"), 1, Commit::OnePhase).unwrap();
    let clock = SystemClock::default();
    let now = clock.read().wall;
    let store = Store::start(journal, Policy::default(), clock).unwrap();
    submit(&store, (0..clusters).map(|number| advertise(number, now)));
    let mut dice = Dice::new(7);
    submit(&store, (1..=reservations).map(|number| reserve(number, &mut dice)));
}

pub(crate) fn name(number: u64) -> String {
    format!("cluster-{number:05}")
}

fn advertise(number: u64, now: Timestamp) -> Command {
    let mut dice = Dice::new(number + 1);
    let nodes = 8 + dice.below(56);
    let size = [nodes * 8000, nodes * 32 * GIB, nodes, nodes * 100 * GIB];
    let used = size.map(|amount| amount / 1000 * dice.below(700));
    let mut advertisement = of_size(Resources::from_amounts(size).unwrap(), now);
    advertisement.allocated = Resources::from_amounts(used).unwrap();
    let zone = ["north", "south", "west"][usize::try_from(number % 3).unwrap()];
    advertisement.labels = labels(&[("zone", zone)]);
    Command::Advertise {
        cluster: cluster(&name(number)),
        advertisement: Box::new(advertisement),
        holding: None,
    }
}

fn reserve(number: u64, dice: &mut Dice) -> Command {
    let ask = request(dice, 2);
    let by = Actor::Cluster(ask.requester().clone());
    Command::Reserve { id: id(number.into()), ask: Box::new(ask), key: None, by }
}

/// Submits everything, and waits until all of it is decided.
fn submit(store: &Store, commands: impl Iterator<Item = Command>) {
    let (told, answers) = sync_channel(AT_ONCE);
    let mut under_way = 0;
    for command in commands {
        if under_way == AT_ONCE {
            let answer: Result<_, rear_store::SubmitError> = answers.recv().unwrap();
            answer.unwrap();
            under_way -= 1;
        }
        let told = told.clone();
        store.submit_with(command, move |answer| told.send(answer.map(drop)).unwrap());
        under_way += 1;
    }
    for _ in 0..under_way {
        answers.recv().unwrap().unwrap();
    }
}
