//! Several writers on one ledger, without a network: whoever loses a place decides again, and whoever is told something can
//! rely on it.

use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

use rear_engine::advertisement::{Holding, Order};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Change, Command, Refusal};
use rear_store::journal::{HandedOver, JournalError};
use rear_store::shared::EntryError;
use rear_store::{Answer, Position, Store, SubmitError};

use super::board::Board;
use super::stage::{Hands, advertise, hear, release, reserve, reserve_for};

fn out_of_reach() -> JournalError {
    JournalError::OutOfReach("no route".to_owned())
}

fn in_doubt() -> JournalError {
    JournalError::InDoubt("too late".to_owned())
}

fn no_disk() -> JournalError {
    JournalError::Storage("the disk is full".into())
}

/// Two stores on one board, with a provider of two cores.
struct Two {
    hands: Hands,
    board: Board,
    first: Arc<Store>,
    second: Arc<Store>,
    of_first: super::board::Strings,
    of_second: super::board::Strings,
}

fn two() -> Two {
    let (hands, board) = (Hands::start(), Board::default());
    let (first, of_first) = board.store(1000, false, &hands);
    first.submit(advertise("2", "1Gi", &hands)).unwrap();
    first.submit(hear()).unwrap();
    let (second, of_second) = board.store(2000, true, &hands);
    let (first, second) = (Arc::new(first), Arc::new(second));
    Two { hands, board, first, second, of_first, of_second }
}

fn live(store: &Store) -> (Position, usize) {
    let view = store.view();
    (view.position(), view.counts().reserved)
}

#[test]
fn whoever_loses_a_place_decides_again_and_nothing_of_the_first_try_is_left() {
    let two = two();
    let first = two.first.clone();
    two.of_second.pull().meanwhile = Some(Box::new(move || {
        first.submit(reserve(1, "2")).unwrap();
    }));
    let lost = two.second.submit(reserve(2, "2"));
    assert!(matches!(lost, Err(SubmitError::Refused(_))), "{lost:?}");
    assert_eq!(live(&two.first), live(&two.second));
    assert_eq!(two.second.meters().read().lost, 1);
    assert_eq!(two.second.meters().read().followed, 1);
    assert_eq!(two.first.meters().read().lost, 0);
    two.second.submit(release(1)).unwrap();
    let won = two.second.submit(reserve(2, "2")).unwrap();
    assert_eq!(won.reservation.unwrap().id, id(2));
    two.of_first.wake();
    two.first.submit(hear()).unwrap();
    assert_eq!(live(&two.first), live(&two.second));
}

#[test]
fn what_others_have_written_counts_from_the_next_decision_on() {
    let two = two();
    let granted = two.first.submit(reserve(1, "2")).unwrap();
    let refused = two.second.submit(reserve(2, "1"));
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
    assert_eq!(two.second.view().position(), granted.position);
    assert_eq!(live(&two.second), live(&two.first));
}

#[test]
fn more_than_is_told_entry_by_entry_is_loaded_as_a_whole() {
    let two = two();
    for number in 1..=5 {
        two.first.submit(reserve(number, "100m")).unwrap();
    }
    two.of_second.pull().anew = true;
    two.second.submit(hear()).unwrap();
    assert_eq!(live(&two.second), live(&two.first));
    assert_eq!(live(&two.second).1, 5);
    let granted = two.second.submit(reserve(6, "100m")).unwrap();
    assert_eq!(granted.position.number, live(&two.first).0.number + 1);
}

#[test]
fn whoever_loses_again_and_again_is_told_to_come_later() {
    let two = two();
    let before = two.board.places();
    two.of_second.pull().commits = (0..200).map(|_| JournalError::Overtaken).collect();
    assert_eq!(two.second.submit(reserve(1, "1")), Err(SubmitError::Overloaded));
    assert_eq!(two.second.meters().read().lost, 200);
    assert_eq!((two.board.places(), live(&two.second).1), (before, 0));
    two.of_second.pull().commits = (0..199).map(|_| JournalError::Overtaken).collect();
    two.second.submit(reserve(1, "1")).unwrap();
}

/// Commands that wait together while a commit is under way, and how many are counted as waiting then.
fn together(
    two: &Two,
    commands: impl Iterator<Item = Command>,
) -> (Vec<Result<Answer, SubmitError>>, u64) {
    let (entered, inside) = sync_channel(1);
    let (open, gate) = sync_channel::<()>(1);
    two.of_second.pull().meanwhile = Some(Box::new(move || {
        entered.send(()).unwrap();
        gate.recv().unwrap();
    }));
    let name = 1000 + u128::try_from(two.board.places()).unwrap();
    two.second.submit_with(reserve(name, "1m"), |outcome| drop(outcome.unwrap()));
    inside.recv().unwrap();
    let (told, outcomes) = channel();
    for command in commands {
        let told = told.clone();
        two.second.submit_with(command, move |outcome| told.send(outcome).unwrap());
    }
    drop(told);
    let waiting = two.second.meters().waiting();
    open.send(()).unwrap();
    (outcomes.iter().collect(), waiting)
}

#[test]
fn whoever_waits_is_counted_and_nobody_else() {
    let two = two();
    two.of_second.wake();
    two.of_second.take_in(vec![reserve(1, "1m")]).recv().unwrap();
    let (_, waiting) = together(&two, (2..=4).map(|number| reserve(number, "1m")));
    assert_eq!(waiting, 3);
    assert_eq!(two.second.meters().waiting(), 0);
}

#[test]
fn what_is_too_much_for_one_entry_becomes_two() {
    let two = two();
    two.of_second.pull().largest = Some(2);
    let (outcomes, _) = together(&two, (1..=7).map(|number| reserve(number, "100m")));
    assert_eq!(outcomes.len(), 7);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let entries = two.board.reservations();
    assert_eq!(entries[entries.len() - 4..], [1, 2, 2, 2]);
    two.of_second.pull().largest = Some(1);
    let (outcomes, _) = together(&two, (11..=12).map(|number| reserve(number, "100m")));
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn what_is_too_large_by_itself_is_told_and_changes_nothing() {
    let two = two();
    two.of_second.pull().largest = Some(0);
    let Err(SubmitError::CutOff(why)) = two.second.submit(reserve(1, "1")) else { panic!() };
    assert!(why.contains("too large for one entry"), "{why}");
    assert_eq!(live(&two.second).1, 0);
}

#[test]
fn a_cluster_with_more_promises_than_fit_into_an_entry_is_forgotten_in_several() {
    let two = two();
    for number in 1..=10 {
        two.second.submit(reserve(number, "100m")).unwrap();
    }
    two.of_second.pull().largest = Some(3);
    let before = two.board.places();
    let by = Actor::Administrator("operator".parse().unwrap());
    let forget = Command::Forget { cluster: cluster("p"), by };
    two.second.submit(forget.clone()).unwrap();
    assert_eq!(live(&two.second).1, 0);
    assert!(two.second.view().fleet().cluster(&cluster("p")).is_none());
    let entries = &two.board.reservations()[before..];
    assert_eq!(entries.iter().sum::<usize>(), 10, "each once: {entries:?}");
    let Err(SubmitError::Refused(why)) = two.second.submit(forget) else { panic!() };
    assert!(matches!(why, Refusal::UnknownCluster(_)), "{why}");
}

#[test]
fn a_requester_without_a_record_is_forgotten_in_several_entries_too() {
    let two = two();
    for number in 1..=10 {
        two.second.submit(reserve(number, "100m")).unwrap();
    }
    two.of_second.pull().largest = Some(3);
    let by = Actor::Administrator("operator".parse().unwrap());
    let forget = Command::Forget { cluster: cluster("r"), by };
    two.second.submit(forget.clone()).unwrap();
    assert_eq!(live(&two.second).1, 0);
    let Err(SubmitError::Refused(why)) = two.second.submit(forget) else { panic!() };
    assert!(matches!(why, Refusal::UnknownCluster(_)), "{why}");
}

#[test]
fn what_cannot_be_made_smaller_is_not_tried_for_ever_because_time_passes() {
    let two = two();
    let hands = two.hands.clone();
    // With each entry so much time passes that another one is due to tell it.
    let mut tries = 0;
    two.of_second.pull().too_large = Some(Box::new(move |batch| {
        hands.pass(10);
        tries += 1;
        let forgotten = |change: &Change| matches!(change, Change::Forgotten(_));
        tries < 100 && batch.changes.iter().any(forgotten)
    }));
    let by = Actor::Administrator("operator".parse().unwrap());
    let forgotten = two.second.submit(Command::Forget { cluster: cluster("p"), by });
    assert!(matches!(forgotten, Err(SubmitError::CutOff(_))), "{forgotten:?}");
}

#[test]
fn a_cluster_that_holds_more_than_fits_into_an_entry_is_believed_in_several() {
    let (hands, board) = (Hands::start(), Board::default());
    let (store, strings) = board.restored(1000, &hands);
    strings.pull().largest = Some(3);
    let held = |number| Holding {
        reservation: id(number),
        ask: ask("r", resources("100m", "1Mi")),
        expires_at: None,
    };
    let holds = |many| Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("2", "1Gi", hands.now())),
        holding: Some((1..=many).map(held).collect()),
    };
    store.submit(holds(10)).unwrap();
    assert_eq!(live(&store).1, 10);
    let entries = board.reservations();
    assert_eq!(entries.iter().sum::<usize>(), 10, "each once: {entries:?}");
    assert!(entries.iter().all(|many| *many <= 3), "{entries:?}");
    // It is waited for no longer, and what it holds counts.
    store.submit(reserve(11, "1")).unwrap();
    store.submit(reserve(12, "1m")).unwrap_err();
}

#[test]
fn nothing_is_granted_by_a_cluster_of_which_a_part_is_believed() {
    let (hands, board) = (Hands::start(), Board::default());
    let (store, _) = board.restored(1000, &hands);
    let held =
        Holding { reservation: id(1), ask: ask("r", resources("100m", "1Mi")), expires_at: None };
    let part = Command::Adopt {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("2", "1Gi", hands.now())),
        holding: vec![held],
        limit: 1,
    };
    store.submit(part.clone()).unwrap();
    let entries = board.reservations();
    assert_eq!(entries.iter().sum::<usize>(), 1, "{entries:?}");
    store.submit(reserve(2, "1m")).unwrap_err();
    store.submit(part).unwrap();
    assert_eq!(board.reservations(), entries, "there is nothing more to believe");
}

/// So many promises of a tenth of a core have ended, of which so many fit into an entry; how many entries there are before.
fn end_together(two: &Two, many: u128, largest: usize) -> usize {
    for number in 1..=many {
        two.second.submit(reserve_for(number, "100m", 60)).unwrap();
    }
    let places = two.board.places();
    for strings in [&two.of_first, &two.of_second] {
        strings.pull().largest = Some(largest);
    }
    two.hands.pass(61);
    places
}

#[test]
fn what_is_due_and_too_much_for_one_entry_becomes_several_and_hides_no_room() {
    let two = two();
    let before = end_together(&two, 10, 3);
    // All of the provider, so that every one of them must have ended.
    let mut told = two.second.submit(reserve(11, "2"));
    while matches!(told, Err(SubmitError::Overloaded)) {
        told = two.second.submit(reserve(11, "2"));
    }
    assert_eq!(told.unwrap().reservation.unwrap().id, id(11));
    assert_eq!(live(&two.second).1, 1);
    let entries = &two.board.reservations()[before..];
    assert_eq!(entries.iter().sum::<usize>(), 11, "each once: {entries:?}");
}

#[test]
fn what_is_due_goes_before_a_command_that_is_too_large_in_as_few_entries_as_it_fits_into() {
    let two = two();
    for number in 1..=50 {
        two.second.submit(reserve(1000 + number, "1m")).unwrap();
    }
    for number in 1..=600 {
        two.second.submit(reserve_for(number, "1m", 60)).unwrap();
    }
    let (places, tried) = (two.board.places(), two.of_second.pull().tried);
    two.of_second.pull().largest = Some(20);
    two.hands.pass(61);
    let by = Actor::Administrator("operator".parse().unwrap());
    two.second.submit(Command::Forget { cluster: cluster("p"), by }).unwrap();
    assert_eq!(live(&two.second).1, 0);
    let (places, tried) = (two.board.places() - places, two.of_second.pull().tried - tried);
    assert!(tried < 200, "{tried} tries for {places} entries");
}

#[test]
fn room_that_was_made_for_someone_is_theirs_although_more_has_ended() {
    let two = two();
    end_together(&two, 10, 3);
    // More than is free once as much has ended as fits into an entry; enough is, if as much ends again.
    let told = two.second.submit(reserve(11, "1150m")).unwrap();
    assert_eq!(told.reservation.unwrap().id, id(11));
}

#[test]
fn what_is_due_leaves_its_place_to_what_does_not_fit_beside_it() {
    let two = two();
    end_together(&two, 3, 1);
    two.second.submit(reserve(4, "100m")).unwrap();
    assert_eq!(live(&two.second).1, 1);
    for strings in [&two.of_first, &two.of_second] {
        strings.pull().largest = Some(0);
    }
    two.hands.pass(1);
    let Err(SubmitError::CutOff(_)) = two.second.submit(reserve(5, "100m")) else { panic!() };
}

#[test]
fn what_was_handed_over_is_found_although_an_entry_of_another_half_stands() {
    let two = two();
    two.of_second.pull().hand_over = Some(Box::new(|_| HandedOver::Unheard));
    two.of_second.pull().largest = Some(1);
    let (outcomes, _) = together(
        &two,
        (1..=2).map(|number| {
            let (strings, first) = (two.of_second.clone(), two.first.clone());
            // The other broker decides the second of them while both are too much for one entry.
            strings.pull().meanwhile = Some(Box::new(move || drop(first.submit(reserve(2, "1")))));
            reserve(number, "1m")
        }),
    );
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn what_was_not_written_is_told_as_such_and_the_next_one_may_be() {
    let two = two();
    two.of_second.pull().commits.push_back(out_of_reach());
    let Err(SubmitError::CutOff(why)) = two.second.submit(reserve(1, "2")) else { panic!() };
    assert!(why.contains("no route"), "{why}");
    assert_eq!(live(&two.second).1, 0);
    two.of_second.pull().follows.push_back(out_of_reach());
    two.hands.pass(3);
    let cut_off = two.second.submit(reserve(2, "2"));
    assert!(matches!(cut_off, Err(SubmitError::CutOff(_))), "{cut_off:?}");
    assert_eq!(two.second.view().now(), two.hands.now(), "time goes on for readers");
    two.second.submit(reserve(3, "2")).unwrap();
}

#[test]
fn what_may_have_been_written_is_told_as_such() {
    let two = two();
    two.of_second.pull().commits.push_back(in_doubt());
    let doubted = two.second.submit(reserve(1, "2"));
    assert!(matches!(doubted, Err(SubmitError::NotDurable(_))), "{doubted:?}");
    assert_eq!(two.second.meters().read().doubted, 1);
    assert_eq!(live(&two.second).1, 0, "nothing is shown that may not be so");
    assert_eq!(two.second.failure(), None);
    two.second.submit(reserve(1, "2")).unwrap();
    assert_eq!(two.second.meters().read().doubted, 1);
}

#[test]
fn a_file_that_fails_is_read_again_and_one_that_fails_for_good_is_the_end() {
    let two = two();
    two.of_second.pull().commits.push_back(no_disk());
    let failed = two.second.submit(reserve(1, "2"));
    assert!(matches!(failed, Err(SubmitError::NotDurable(_))), "{failed:?}");
    assert_eq!(two.second.submit(reserve(1, "1")).unwrap().reservation.unwrap().id, id(1));
    // After a failure it is shown by an empty entry that entries can be made; that alone does not make up for it.
    for _ in 0..2 {
        two.of_second.pull().commits.push_back(no_disk());
        let failed = two.second.submit(reserve(2, "1"));
        assert!(matches!(failed, Err(SubmitError::NotDurable(_))), "{failed:?}");
        two.second.submit(hear()).unwrap();
    }
    two.of_second.pull().commits.push_back(no_disk());
    drop(two.second.submit(reserve(2, "1")));
    let stopped = two.second.submit(hear());
    assert!(matches!(stopped, Err(SubmitError::Stopped(_))), "{stopped:?}");
    let why = two.second.failure().unwrap();
    assert!(why.contains("3 failures in a row"), "{why}");
}

#[test]
fn an_entry_that_cannot_be_followed_is_the_end() {
    let two = two();
    let newer = EntryError::Newer { position: Position::default(), schema: 200 };
    two.of_second.pull().follows.push_back(newer.into());
    let stopped = two.second.submit(reserve(1, "1"));
    assert!(matches!(stopped, Err(SubmitError::Stopped(_))), "{stopped:?}");
    assert!(matches!(two.second.submit(hear()), Err(SubmitError::Stopped(_))));
    let why = two.second.failure().unwrap();
    assert!(why.contains("newer version"), "{why}");
}

#[test]
fn nobody_is_refused_by_a_state_that_was_not_the_newest() {
    let two = two();
    two.second.submit(hear()).unwrap();
    let again = || Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("2", "1Gi", two.hands.now())),
        holding: None,
    };
    two.second.submit(again()).unwrap();
    assert_eq!(two.of_second.pull().confirmed, 0, "a sign of life is true whatever others did");
    let refused = two.second.submit(reserve(1, "3"));
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
    assert_eq!(two.of_second.pull().confirmed, 1);
    two.second.submit(reserve(1, "1")).unwrap();
    assert_eq!(two.of_second.pull().confirmed, 1, "an entry is proof enough");

    two.of_second.pull().confirms.push_back(JournalError::Overtaken);
    let refused = two.second.submit(reserve(2, "3"));
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
    assert_eq!(two.of_second.pull().confirmed, 3, "it is decided again");
    two.of_second.pull().confirms.push_back(out_of_reach());
    let unknown = two.second.submit(reserve(2, "3"));
    assert!(matches!(unknown, Err(SubmitError::CutOff(_))), "{unknown:?}");
}

#[test]
fn someone_tells_the_time_now_and_then_and_not_all_at_the_same_moment() {
    let (hands, board) = (Hands::start(), Board::default());
    let (early, _strings) = board.store(1000, false, &hands);
    early.submit(hear()).unwrap();
    assert_eq!(board.places(), 2, "who comes where nobody is tells the time");
    let silent_for = |store: &Store, seconds| {
        hands.pass(seconds);
        store.submit(hear()).unwrap();
        board.places()
    };
    assert_eq!(silent_for(&early, 5), 2);
    assert_eq!(silent_for(&early, 1), 3, "nothing was told for more than five seconds");
    let (late, strings) = board.store(1999, true, &hands);
    assert_eq!(silent_for(&late, 7), 3, "half of that longer for some");
    assert_eq!(silent_for(&late, 1), 4);
    hands.jump(600);
    assert_eq!(silent_for(&late, 9), 4, "nobody tells a time that it does not believe");
    assert!(strings.pull().settled);
}

#[test]
fn who_waits_for_a_position_hears_of_one_at_which_nothing_happened() {
    let two = two();
    let mut news = two.second.subscribe(None);
    news.mark_unchanged();
    two.hands.pass(6);
    two.first.submit(hear()).unwrap();
    two.second.submit(hear()).unwrap();
    assert!(news.has_changed().unwrap());
    assert_eq!(*news.borrow(), two.first.view().position());
}

#[test]
fn a_newcomer_whose_clock_is_wrong_grants_nothing_while_others_are_there() {
    let two = two();
    let off = Hands::start();
    off.jump(3600);
    let (third, of_third) = two.board.store(3000, true, &off);
    let refused = third.submit(reserve(1, "1"));
    assert!(matches!(refused, Err(SubmitError::ClockJumped(_))), "{refused:?}");
    assert!(!of_third.pull().settled);
    of_third.pull().company = false;
    third.submit(advertise("2", "1Gi", &off)).unwrap();
    third.submit(reserve(1, "1")).unwrap();
    assert!(of_third.pull().settled);
}

#[test]
fn what_was_acknowledged_outlives_a_place_that_is_lost() {
    let two = two();
    let say = |sequence, cpu: &str| {
        let mut command = advertise(cpu, "1Gi", &two.hands);
        if let Command::Advertise { advertisement, .. } = &mut command {
            advertisement.order = Some(Order { epoch: 1, sequence });
        }
        command
    };
    two.first.submit(say(5, "2")).unwrap();
    two.of_first.pull().commits = [JournalError::Overtaken].into();
    two.first.refresh(say(7, "2")).expect("it says the same again");
    two.first.submit(reserve(1, "100m")).unwrap();
    // Late, and older than what was acknowledged.
    let older = two.first.submit(say(6, "1"));
    assert!(matches!(older, Err(SubmitError::Refused(Refusal::Outdated { .. }))), "{older:?}");
}
