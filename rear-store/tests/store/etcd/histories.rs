//! A recorded history of many clients on three brokers, and whether one broker could have produced it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rear_engine::Refusal;
use rear_store::{Store, SubmitError};
use rear_testbed::eventually;

use super::{Place, advertise, end_the_same, release, reserve, start};
use crate::linear::{Act, Operation, is_linearizable};

/// Few places, so that there is something to fight over.
const PLACES: usize = 3;

/// Numbers the moments of calls and answers.
static MOMENT: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU32 = AtomicU32::new(1);

fn moment() -> u64 {
    MOMENT.fetch_add(1, Ordering::SeqCst)
}

fn timed(operation: impl FnOnce() -> Option<Act>) -> Option<Operation> {
    let called = moment();
    let act = operation()?;
    Some(Operation { act, called, answered: moment() })
}

fn asks(store: &Store, id: u32) -> Option<Act> {
    Some(match store.submit(reserve(id.into(), None)) {
        Ok(_) => Act::Reserve { id, granted: true },
        Err(SubmitError::Refused(Refusal::NoRoom(_))) => Act::Reserve { id, granted: false },
        Err(SubmitError::NotDurable(_)) => Act::Unknown { id },
        // Nothing was changed.
        Err(_) => return None,
    })
}

/// What is reserved, of everything: once what the journal ends with is shown here.
fn reads(store: &Store) -> Option<Act> {
    let (tell, end) = mpsc::channel();
    store.ask_for_the_end(move |end| drop(tell.send(end)));
    let end = end.recv_timeout(Duration::from_secs(20)).ok()?.ok()?;
    eventually(|| (store.view().position() >= end).then_some(()))?;
    let view = store.view();
    let live = view.fleet().reservations().filter(|kept| kept.phase.is_live());
    let live: BTreeSet<u32> = live.map(|kept| u32::try_from(kept.id.to_bits()).unwrap()).collect();
    Some(Act::Read { live })
}

fn client(store: &Store, rounds: usize) -> Vec<Operation> {
    let mut history = Vec::new();
    for round in 0..rounds {
        let id = NEXT.fetch_add(1, Ordering::SeqCst);
        let asked = timed(|| asks(store, id));
        let granted =
            matches!(asked, Some(Operation { act: Act::Reserve { granted: true, .. }, .. }));
        history.extend(asked);
        if round % 2 == 0 {
            history.extend(timed(|| reads(store)));
        }
        if granted {
            history.extend(timed(|| {
                store.submit(release(id.into())).ok().map(|_| Act::Release { id })
            }));
        }
    }
    history
}

#[test]
fn many_clients_of_three_brokers_see_what_one_broker_could_have_done() {
    for _ in 0..3 {
        let place = Place::new();
        let stores: Vec<Arc<Store>> =
            ["a", "b", "c"].iter().map(|name| Arc::new(start(&place, name))).collect();
        advertise(&stores[0], &PLACES.to_string());
        let clients: Vec<_> = (0..6)
            .map(|number: usize| {
                let store = stores[number % 3].clone();
                thread::spawn(move || client(&store, 10))
            })
            .collect();
        let history: Vec<Operation> =
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        assert!(history.len() > 60);
        assert!(is_linearizable(&history, PLACES), "{history:#?}");
        // A fault that is planted into the same history is found.
        let mut faulty = history;
        let (called, answered) = (moment(), moment());
        let act = Act::Read { live: [u32::MAX].into() };
        faulty.push(Operation { act, called, answered });
        assert!(!is_linearizable(&faulty, PLACES));
        let stores: Vec<&Store> = stores.iter().map(|store| &**store).collect();
        end_the_same(&stores);
    }
}
