//! A ledger with more than anyone reads: ten thousand clusters, a hundred thousand promises.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command, Policy, Timestamp};
use rear_store::clock::{Clock, SystemClock};
use rear_store::{Answer, Commit, RedbJournal, Store, SubmitError};

const CLUSTERS: u32 = 10_000;
const PROMISES: u32 = 100_000;

/// How many commands are on their way at once: fewer than may wait.
const AT_ONCE: usize = 1000;

pub(crate) fn fill(ledger: &Path) {
    let journal = RedbJournal::open(ledger, Commit::OnePhase).unwrap();
    let now = SystemClock::default().read().wall;
    let store = Store::start(journal, Policy::default(), SystemClock::default()).unwrap();
    submit_all(&store, (0..CLUSTERS).map(|number| advertise(number, now)));
    submit_all(&store, (0..PROMISES).map(reserve));
}

fn name(number: u32) -> rear_engine::ClusterId {
    cluster(&format!("c{number:05}"))
}

fn advertise(number: u32, now: Timestamp) -> Command {
    let size = (16 + number % 64).to_string();
    let told = advertisement(&size, "256Gi", now);
    Command::Advertise { cluster: name(number), advertisement: Box::new(told), holding: None }
}

fn reserve(number: u32) -> Command {
    let requester = name(number % CLUSTERS);
    let ask = ask(requester.as_str(), resources("100m", "64Mi"));
    let by = Actor::Cluster(requester);
    Command::Reserve { id: id(u128::from(number) + 1), ask: Box::new(ask), key: None, by }
}

fn submit_all(store: &Store, commands: impl Iterator<Item = Command>) {
    let (done, answers) = sync_channel::<Result<Answer, SubmitError>>(AT_ONCE);
    let mut on_their_way = 0;
    for command in commands {
        if on_their_way == AT_ONCE {
            answers.recv().unwrap().unwrap();
            on_their_way -= 1;
        }
        let done = done.clone();
        store.submit_with(command, move |answer| done.send(answer).unwrap());
        on_their_way += 1;
    }
    (0..on_their_way).for_each(|_| drop(answers.recv().unwrap().unwrap()));
}
