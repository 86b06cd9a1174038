//! Handing over instead of contending: whoever was faster decides, once, and everyone is answered where they asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rear_engine::Refusal;
use rear_store::records::handed::{DecidedRecord, HandedRecord, may_be_handed};
use rear_store::shared::Origin;
use rear_store::{Position, Store, SubmitError};
use rear_testbed::eventually;

use super::{Place, advertise, end_the_same, release, reserve, start};

const CALLERS: u128 = 12;
const ROUNDS: u128 = 40;

/// Three brokers that know of each other.
fn acquainted(place: &Place) -> Vec<Arc<Store>> {
    let stores: Vec<_> = ["a", "b", "c"].iter().map(|name| Arc::new(start(place, name))).collect();
    let all = || stores.iter().all(|store| store.standing().is_some_and(|at| at.brokers == 3));
    eventually(|| all().then_some(())).expect("they see each other");
    stores
}

#[test]
fn what_is_handed_over_is_decided_once_and_answered_where_it_was_asked() {
    let place = Place::new();
    let stores = acquainted(&place);
    advertise(&stores[0], "100");
    let refused = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let store = stores[usize::try_from(caller).unwrap() % 3].clone();
            let refused = refused.clone();
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    let number = caller * 1000 + round;
                    match store.submit(reserve(number, None)) {
                        Ok(granted) => {
                            let made = granted.reservation.unwrap();
                            assert_eq!(made.id.to_bits(), number);
                            // Whoever is answered sees it there.
                            assert!(store.view().fleet().reservation(made.id).is_some());
                            let given_back = store.submit(release(number)).unwrap();
                            assert!(!given_back.reservation.unwrap().phase.is_live());
                        }
                        Err(SubmitError::Refused(Refusal::NoRoom(_))) => {
                            refused.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    let counted: Vec<_> = stores.iter().map(|store| store.meters().read()).collect();
    assert!(counted.iter().any(|counted| counted.handed_over > 0), "{counted:?}");
    let granted: u64 = counted.iter().map(|counted| counted.granted).sum();
    let asked = u64::try_from(CALLERS * ROUNDS).unwrap();
    assert_eq!(granted, asked - refused.load(Ordering::SeqCst), "each once");
    let stores: Vec<&Store> = stores.iter().map(|store| &**store).collect();
    end_the_same(&stores);
    assert_eq!(stores[0].view().counts().reserved, 0);
}

#[test]
fn a_refusal_is_that_of_the_broker_that_was_asked() {
    let place = Place::new();
    let stores = acquainted(&place);
    advertise(&stores[0], "1");
    stores[0].submit(reserve(1, None)).unwrap();
    let full = stores[1].submit(reserve(2, None)).unwrap_err();
    assert!(matches!(full, SubmitError::Refused(Refusal::NoRoom(_))), "{full}");
    let unknown = stores[2].submit(release(77)).unwrap_err();
    assert!(matches!(unknown, SubmitError::Refused(_)), "{unknown}");
}

#[test]
fn commands_arrive_as_they_were_said() {
    let (reserve, release) = (reserve(5, Some("k")), release(5));
    let origin = Origin { broker: 7, after: Position { incarnation: 1, number: 41 } };
    let record = HandedRecord::of(3, origin, &[&reserve, &release]).unwrap();
    let arrived = HandedRecord::open(&record.seal().unwrap()).unwrap();
    assert_eq!(arrived.ledger(), 3);
    assert_eq!(arrived.into_commands().unwrap(), (origin, vec![reserve, release]));
    let expire = rear_engine::Command::Expire { limit: 1 };
    assert!(!may_be_handed(&expire));
    assert!(HandedRecord::of(3, origin, &[&expire]).is_none());
    let position = origin.after;
    let id = rear_engine::testing::id(9);
    let decided = DecidedRecord::of(position, &[Some(id), None], vec![1, 2]);
    let decided = DecidedRecord::open(&decided.seal().unwrap()).unwrap();
    assert_eq!(decided.into_parts(), (position, vec![Some(id), None], vec![1, 2]));
}
