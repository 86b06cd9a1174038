//! Commands that are handed to the broker that was faster: whatever is heard of them, nothing is decided twice, and nobody is
//! told what is not so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rear_engine::Command;
use rear_engine::testing::id;
use rear_store::journal::{Decided, HandedOver, JournalError};
use rear_store::{Position, Store, SubmitError};

use super::board::{Board, Strings};
use super::stage::{Hands, advertise, hear, release, reserve};

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A store that hands over, and the one that it hands to.
struct Pair {
    hands: Hands,
    board: Board,
    winner: Arc<Store>,
    of_winner: Strings,
    store: Store,
    strings: Strings,
}

fn pair() -> Pair {
    let (hands, board) = (Hands::start(), Board::default());
    let (winner, of_winner) = board.store(1000, false, &hands);
    winner.submit(advertise("2", "1Gi", &hands)).unwrap();
    winner.submit(hear()).unwrap();
    let (store, strings) = board.store(2000, true, &hands);
    store.submit(hear()).unwrap();
    Pair { hands, board, winner: Arc::new(winner), of_winner, store, strings }
}

/// Has the other store decide each, and says what became of them.
fn decided_by(store: &Store, commands: &[&Command]) -> Decided {
    let outcomes = commands.iter().map(|command| store.submit((*command).clone()));
    let answers: Vec<_> = outcomes.map(Result::ok).collect();
    let position = answers.iter().flatten().map(|answer| answer.position).max();
    let each = answers.into_iter().map(|answer| Some(answer?.reservation?.id)).collect();
    Decided { position: position.unwrap_or_default(), each }
}

impl Pair {
    /// What is handed over is decided by the other store, and told.
    fn hand_over(&self) -> Arc<AtomicUsize> {
        let (winner, handed) = (self.winner.clone(), Arc::new(AtomicUsize::new(0)));
        let count = handed.clone();
        self.strings.pull().hand_over = Some(Box::new(move |commands| {
            count.fetch_add(commands.len(), Ordering::SeqCst);
            HandedOver::Decided(decided_by(&winner, commands))
        }));
        handed
    }

    /// What is handed over is decided by the other store, or not; nobody hears of it.
    fn hand_over_unheard(&self, is_decided: bool) -> Arc<AtomicUsize> {
        let (winner, handed) = (self.winner.clone(), Arc::new(AtomicUsize::new(0)));
        let count = handed.clone();
        self.strings.pull().hand_over = Some(Box::new(move |commands| {
            count.fetch_add(commands.len(), Ordering::SeqCst);
            if is_decided {
                decided_by(&winner, commands);
            }
            HandedOver::Unheard
        }));
        handed
    }

    /// As many as are asked for, and not one more.
    fn promised(&self) -> usize {
        self.winner.submit(hear()).unwrap();
        self.store.submit(hear()).unwrap();
        let (here, there) = (self.store.view().counts(), self.winner.view().counts());
        assert_eq!(here, there);
        here.reserved
    }
}

#[test]
fn what_another_broker_decides_is_answered_once_it_can_be_read_here() {
    let pair = pair();
    let handed = pair.hand_over();
    let before = pair.board.places();
    let answer = pair.store.submit(reserve(1, "1")).unwrap();
    assert_eq!(answer.reservation.unwrap().id, id(1));
    assert!(pair.store.view().position() >= answer.position);
    assert!(pair.store.view().fleet().reservation(id(1)).is_some());
    let released = pair.store.submit(release(1)).unwrap();
    assert!(!released.reservation.unwrap().phase.is_live());
    assert_eq!(pair.board.places(), before + 2, "each is decided once");
    assert_eq!(handed.load(Ordering::SeqCst), 2);
    assert_eq!(pair.store.meters().read().handed_over, 2);
}

#[test]
fn what_another_broker_does_not_decide_is_decided_here() {
    let pair = pair();
    let handed = pair.hand_over();
    let refused = pair.store.submit(reserve(1, "3"));
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
    assert_eq!(handed.load(Ordering::SeqCst), 1);
    assert_eq!(pair.strings.pull().confirmed, 1, "by the newest state");
    assert_eq!(pair.store.meters().read().handed_over, 0);
}

#[test]
fn only_what_may_be_decided_anywhere_is_handed_over() {
    let pair = pair();
    let handed = pair.hand_over();
    pair.store.submit(advertise("4", "1Gi", &pair.hands)).unwrap();
    assert_eq!(handed.load(Ordering::SeqCst), 0);
    pair.store.submit(reserve(1, "1")).unwrap();
    assert_eq!(handed.load(Ordering::SeqCst), 1);
    drop(pair.store.submit(reserve(1, "1")));
    assert_eq!(handed.load(Ordering::SeqCst), 1, "that name is taken: it is looked at here");
}

#[test]
fn a_broker_decides_something_itself_now_and_then() {
    let pair = pair();
    let handed = pair.hand_over();
    pair.hands.pass(1);
    pair.store.submit(reserve(1, "100m")).unwrap();
    assert_eq!(handed.load(Ordering::SeqCst), 1, "a second is not too long");
    pair.hands.pass(1);
    pair.store.submit(reserve(2, "100m")).unwrap();
    assert_eq!(handed.load(Ordering::SeqCst), 1);
    pair.store.submit(reserve(3, "100m")).unwrap();
    assert_eq!(handed.load(Ordering::SeqCst), 2);
}

#[test]
fn nothing_is_handed_over_while_the_clock_is_in_doubt() {
    let pair = pair();
    let handed = pair.hand_over();
    pair.hands.jump(600);
    let refused = pair.store.submit(reserve(1, "1"));
    assert!(matches!(refused, Err(SubmitError::ClockJumped(_))), "{refused:?}");
    assert_eq!(handed.load(Ordering::SeqCst), 0);
}

#[test]
fn what_was_decided_and_not_heard_of_is_found_and_not_decided_again() {
    let pair = pair();
    let handed = pair.hand_over_unheard(true);
    let before = pair.board.places();
    let answer = pair.store.submit(reserve(1, "2")).unwrap();
    assert_eq!(answer.reservation.unwrap().id, id(1));
    assert_eq!(pair.board.places(), before + 1);
    // Until an entry of its own stands, nobody knows what else may come: so it makes one, and hands over nothing.
    pair.store.submit(hear()).unwrap();
    assert_eq!(pair.board.places(), before + 2);
    pair.store.submit(hear()).unwrap();
    assert_eq!(pair.board.places(), before + 2);
    assert_eq!(handed.load(Ordering::SeqCst), 1);
    assert_eq!(pair.promised(), 1);
}

#[test]
fn what_nobody_decided_is_decided_here() {
    let pair = pair();
    let handed = pair.hand_over_unheard(false);
    let answer = pair.store.submit(reserve(1, "2")).unwrap();
    assert_eq!(answer.reservation.unwrap().id, id(1));
    assert_eq!(pair.promised(), 1);
    assert_eq!(handed.load(Ordering::SeqCst), 1);
    drop(pair.store.submit(reserve(2, "2")));
    assert_eq!(
        handed.load(Ordering::SeqCst),
        2,
        "an entry of its own stands: it may hand over again"
    );
}

#[test]
fn of_what_was_handed_over_nobody_is_told_that_nothing_has_changed() {
    let pair = pair();
    pair.hand_over_unheard(false);
    let out_of_reach = || JournalError::OutOfReach("no route".to_owned());
    pair.strings.pull().commits.push_back(out_of_reach());
    let unknown = pair.store.submit(reserve(1, "1"));
    assert!(matches!(unknown, Err(SubmitError::NotDurable(_))), "{unknown:?}");
    pair.store.submit(hear()).unwrap();
    pair.strings.pull().commits = (0..200).map(|_| JournalError::Overtaken).collect();
    let unknown = pair.store.submit(reserve(2, "1"));
    assert!(matches!(unknown, Err(SubmitError::NotDurable(_))), "{unknown:?}");

    pair.strings.pull().hand_over = None;
    pair.store.submit(hear()).unwrap();
    pair.strings.pull().commits.push_back(out_of_reach());
    let unchanged = pair.store.submit(reserve(3, "1"));
    assert!(matches!(unchanged, Err(SubmitError::CutOff(_))), "{unchanged:?}");
}

#[test]
fn what_was_decided_and_cannot_be_read_here_is_not_told() {
    let pair = pair();
    pair.strings.pull().hand_over = Some(Box::new(|_| {
        let far = Position { incarnation: 1, number: 1000 };
        HandedOver::Decided(Decided { position: far, each: vec![Some(id(1))] })
    }));
    let unknown = pair.store.submit(reserve(1, "1"));
    assert!(matches!(unknown, Err(SubmitError::NotDurable(_))), "{unknown:?}");
    assert_eq!(pair.promised(), 0);
}

#[test]
fn what_is_taken_in_is_decided_and_told_and_never_handed_on() {
    let pair = pair();
    let handed = pair.hand_over();
    let told = pair.strings.take_in(vec![reserve(1, "2"), reserve(2, "1"), release(7)]);
    let decided = told.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(
        decided.each,
        [Some(id(1)), None, None],
        "refusals are for the broker that was asked"
    );
    assert_eq!(decided.position, pair.store.view().position());
    assert_eq!(handed.load(Ordering::SeqCst), 0);
    assert_eq!(pair.promised(), 1);
}

#[test]
fn what_its_broker_has_taken_back_is_not_decided() {
    let pair = pair();
    pair.of_winner.pull().not_ours = true;
    let told = pair.of_winner.take_in(vec![reserve(1, "2")]);
    let decided = told.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(decided.each, [None]);
    assert_eq!(pair.promised(), 0);
    pair.of_winner.pull().not_ours = false;
    pair.winner.submit(reserve(1, "2")).unwrap();
}

#[test]
fn what_may_have_been_decided_is_told_as_unknown() {
    let pair = pair();
    let failure = || JournalError::InDoubt("too late".to_owned());
    pair.strings.pull().commits.push_back(failure());
    let told = pair.strings.take_in(vec![reserve(1, "1")]);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), None);
    let told = pair.strings.take_in(vec![reserve(1, "1")]);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().unwrap().each, [Some(id(1))]);
}

#[test]
fn a_store_that_has_ended_gives_back_what_it_is_handed() {
    let Pair { store, strings, .. } = pair();
    drop(store);
    let told = strings.take_in(vec![reserve(1, "1"), reserve(2, "1")]);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().unwrap().each, [None, None]);
}
