//! The writer: one decision at a time, many in one commit, an answer only for what is durable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use rear_engine::testing::{cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Duration, Phase, Policy, Refusal, Terms};
use rear_store::settings::PriorityCaps;
use rear_store::store::MAX_WAITING;
use rear_store::{
    Answer, Batch, Commit, Journal, JournalError, Reader, RedbJournal, Settings, Store, SubmitError,
};

use super::disk::Disk;
use super::stage::{
    Hands, Watched, advertise, live_total, release, reserve, reserve_for, reserve_with, start,
};

/// Many callers at once; how many were granted, and how many refused for lack of room.
fn rush(store: &Store, callers: u128, each: u128, cpu: &str) -> (usize, usize) {
    let (granted, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for caller in 0..callers {
            let (granted, refused) = (&granted, &refused);
            scope.spawn(move || {
                for number in 0..each {
                    match store.submit(reserve(caller * 1000 + number + 1, cpu)) {
                        Ok(answer) => {
                            assert!(answer.reservation.unwrap().phase.is_live());
                            granted.fetch_add(1, Ordering::SeqCst)
                        }
                        Err(SubmitError::Refused(Refusal::NoRoom(_))) => {
                            refused.fetch_add(1, Ordering::SeqCst)
                        }
                        Err(other) => panic!("{other}"),
                    };
                }
            });
        }
    });
    (granted.into_inner(), refused.into_inner())
}

#[test]
fn sixty_four_callers_after_ten_cores_get_exactly_ten() {
    let hands = Hands::start();
    let disk = Disk::new();
    let journal = RedbJournal::on_backend(disk.clone(), 7, Commit::TwoPhase).unwrap();
    let store = start(journal, &hands);
    store.submit(advertise("10", "1Gi", &hands)).unwrap();
    assert_eq!(rush(&store, 64, 1, "1"), (10, 54));
    drop(store);
    let found = RedbJournal::on_backend(disk, 7, Commit::TwoPhase).unwrap().load().unwrap();
    assert_eq!(found.reservations.len(), 10);
    assert_eq!(live_total(&found), resources("10", "10Mi"));
}

#[test]
fn with_plenty_of_room_nobody_is_refused() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("1000", "10Gi", &hands)).unwrap();
    assert_eq!(rush(&store, 64, 10, "1m"), (640, 0));
    drop(store);
    assert_eq!(live_total(&journal.contents()), resources("640m", "640Mi"));
}

#[test]
fn an_answer_names_a_commit_that_is_durable() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let Answer { position, reservation } = store.submit(reserve(1, "1")).unwrap();
    let contents = journal.contents();
    assert_eq!(contents.meta.position, position);
    assert_eq!(contents.reservations, [(*reservation.unwrap()).clone()]);
}

#[test]
fn refusals_and_repeated_words_write_nothing() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let before = journal.commits();
    assert!(matches!(store.submit(reserve(1, "5")), Err(SubmitError::Refused(_))));
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    assert_eq!(journal.commits(), before);
}

#[test]
fn what_waits_together_is_decided_in_order_and_committed_together() {
    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    open.send(()).unwrap();
    open.send(()).unwrap();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "2")).unwrap();
    let commits = journal.commits();
    let (told, outcomes) = channel();
    let submit = |name: &'static str, command| {
        let told = told.clone();
        store.submit_with(command, move |outcome| told.send((name, outcome.is_ok())).unwrap());
    };
    let urgent = Terms { priority: 9, ..Terms::default() };
    // The first is held up in its commit while the others gather behind it.
    submit("heard", Command::Hear { cluster: cluster("x") });
    while journal.commits() == commits {
        thread::yield_now();
    }
    submit("patient", reserve(2, "2"));
    submit("urgent", reserve_with(3, "2", urgent));
    submit("release", release(1));
    for _ in 0..2 {
        open.send(()).unwrap();
    }
    let mut outcomes: Vec<(&str, bool)> = outcomes.iter().take(4).collect();
    outcomes.sort_unstable();
    let expected = [("heard", true), ("patient", false), ("release", true), ("urgent", true)];
    assert_eq!(outcomes, expected);
    assert_eq!(journal.commits(), commits + 2, "one for the first, one for the rest");
}

#[test]
fn a_failed_commit_is_told_and_leaves_nothing_behind() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    journal.fail_after(0);
    let failed = store.submit(reserve(1, "2")).unwrap_err();
    let why = "the ledger's file failed: the disk is full".to_owned();
    assert_eq!(failed, SubmitError::NotDurable(why));
    assert_eq!(store.failure(), None, "the journal works again");
    // Had the failed grant stayed in memory, there would be no room.
    store.submit(reserve(2, "2")).unwrap();
    assert_eq!(journal.contents().reservations.len(), 1);
}

#[test]
fn a_journal_that_fails_for_good_stops_the_store() {
    let hands = Hands::start();
    let journal = Watched::that_fails_for_good();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    journal.fail_after(0);
    assert!(matches!(store.submit(reserve(1, "2")), Err(SubmitError::NotDurable(_))));
    let stopped = loop {
        match store.submit(reserve(2, "1")) {
            Err(SubmitError::Stopped(why)) => break why,
            Err(SubmitError::NotDurable(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(stopped.contains("the disk is full"), "{stopped}");
    assert_eq!(store.failure(), Some(stopped));
}

#[test]
fn a_full_queue_is_told_at_once() {
    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    let store = start(journal.clone(), &hands);
    let (told, outcomes) = channel();
    let submit = |number| {
        let told = told.clone();
        store.submit_with(reserve(number, "1"), move |outcome| told.send(outcome).unwrap());
    };
    store.submit_with(advertise("2", "1Gi", &hands), |_| {});
    while journal.commits() == 0 {
        thread::yield_now();
    }
    let waiting = u128::try_from(MAX_WAITING).unwrap();
    (0..waiting).for_each(|number| submit(number + 1));
    assert!(outcomes.try_recv().is_err(), "they wait");
    submit(waiting + 1);
    assert_eq!(outcomes.recv().unwrap(), Err(SubmitError::Overloaded));
    for _ in 0..100 {
        open.send(()).unwrap();
    }
    let granted = outcomes.iter().take(MAX_WAITING).flatten().count();
    assert_eq!(granted, 2);
}

#[test]
fn what_is_due_ends_by_itself_before_the_next_grant() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    store.submit(reserve_for(1, "2", 30)).unwrap();
    hands.pass(29);
    assert!(store.submit(reserve(2, "2")).is_err());
    hands.pass(1);
    store.submit(reserve(3, "2")).unwrap();
    let ended = journal.contents().reservations[0].phase.clone();
    assert!(matches!(ended, Phase::Released(_)), "{ended:?}");
}

#[test]
fn what_is_only_forgotten_gives_no_room_that_is_waited_for() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    for number in 1..=300 {
        store.submit(reserve(number, "1m")).unwrap();
        store.submit(release(number)).unwrap();
    }
    hands.pass(8 * 24 * 60 * 60);
    store.confirm_clock().unwrap();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let told = store.submit(reserve(999, "100"));
    assert!(matches!(told, Err(SubmitError::Refused(Refusal::NoRoom(_)))), "{told:?}");
}

#[test]
fn nobody_is_refused_for_lack_of_room_that_has_ended_however_much_ends_together() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    store.submit(advertise("2", "4Gi", &hands)).unwrap();
    for number in 1..=500 {
        store.submit(reserve_for(number, "4m", 30)).unwrap();
    }
    hands.pass(30);
    store.submit(reserve(501, "2")).unwrap();
    let counts = store.view().counts();
    assert_eq!((counts.reserved, counts.released), (1, 500));
}

#[test]
fn nothing_waits_for_a_caller_to_expire() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    store.submit(reserve_for(1, "2", 1)).unwrap();
    hands.pass(2);
    while journal.contents().reservations[0].phase.is_live() {
        thread::yield_now();
    }
    drop(store);
}

#[test]
fn a_clock_that_jumps_ahead_stops_grants_and_expiry_until_it_comes_back() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_for(1, "1", 30)).unwrap();
    store.submit(reserve(2, "1")).unwrap();
    hands.jump(301);
    let refused = store.submit(reserve(3, "1")).unwrap_err();
    assert!(matches!(refused, SubmitError::ClockJumped(_)), "{refused}");
    store.submit(release(2)).unwrap();
    assert!(journal.contents().reservations[0].phase.is_live(), "not expired by a jump");
    hands.jump(-301);
    store.submit(reserve(4, "1")).unwrap();
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let hands = Hands::start();
    let disk = Disk::new();
    let open = || RedbJournal::on_backend(disk.clone(), 7, Commit::OnePhase).unwrap();
    let store = start(open(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let before = store.submit(reserve(1, "3")).unwrap();
    drop(store);
    let store = start(open(), &hands);
    assert!(matches!(store.submit(reserve(2, "2")), Err(SubmitError::Refused(_))));
    let after = store.submit(release(1)).unwrap();
    assert_eq!(Some(after.position), before.position.next());
    store.submit(reserve(3, "4")).unwrap();
}

#[test]
fn a_clock_that_jumped_is_believed_when_someone_confirms_it() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_for(1, "1", 30)).unwrap();
    let mut health = store.health();
    assert_eq!(health.borrow_and_update().alarm, None);
    hands.jump(100_000);
    assert!(matches!(store.submit(reserve(2, "1")), Err(SubmitError::ClockJumped(_))));
    assert!(health.has_changed().unwrap());
    let alarm = health.borrow_and_update().alarm.unwrap();
    assert_eq!(alarm.ahead_by, Duration::from_seconds(100_000));
    store.confirm_clock().unwrap();
    assert!(health.has_changed().unwrap());
    assert_eq!(health.borrow_and_update().alarm, None);
    assert!(!journal.contents().reservations[0].phase.is_live(), "now its end has come");
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(3, "1")).unwrap();
}

#[test]
fn a_cap_takes_the_urgency_out_of_a_priority() {
    let caps =
        PriorityCaps { others: Some(5), named: [(cluster("vip"), 100), (cluster("r"), 1)].into() };
    assert_eq!(caps.counted(&cluster("vip"), 200), 100);
    assert_eq!(caps.counted(&cluster("vip"), 7), 7);
    assert_eq!(caps.counted(&cluster("r"), 9), 1);
    assert_eq!(caps.counted(&cluster("other"), 9), 5);
    assert_eq!(PriorityCaps::default().counted(&cluster("r"), i32::MAX), i32::MAX);

    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    open.send(()).unwrap();
    let settings = Settings { priorities: caps, ..Settings::default() };
    let store = Store::start(journal.clone(), settings, hands.clone()).unwrap();
    store.submit(advertise("1", "1Gi", &hands)).unwrap();
    let (told, outcomes) = channel();
    store.submit_with(Command::Hear { cluster: cluster("x") }, |_| {});
    while journal.commits() == 1 {
        thread::yield_now();
    }
    // `r` shouts, and counts less than `s` who speaks.
    let submit = |number, requester: &str, priority| {
        let told = told.clone();
        let terms = Terms { priority, ..Terms::default() };
        let ask = Ask::new(cluster(requester), resources("1", "1Mi"), terms).unwrap();
        let by = Actor::Cluster(cluster(requester));
        let command = Command::Reserve { id: id(number), ask: Box::new(ask), key: None, by };
        store.submit_with(command, move |outcome| told.send((number, outcome.is_ok())).unwrap());
    };
    submit(1, "r", 1000);
    submit(2, "s", 2);
    for _ in 0..2 {
        open.send(()).unwrap();
    }
    let mut outcomes: Vec<_> = outcomes.iter().take(2).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [(1, false), (2, true)]);
    let kept = &journal.contents().reservations;
    assert_eq!(kept[0].ask.terms().priority, 2);
}

#[test]
fn rules_alone_are_settings_with_those_rules() {
    let policy = Policy { stale_after: Duration::from_seconds(7), ..Policy::default() };
    let expected = Settings { policy: policy.clone(), ..Settings::default() };
    assert_eq!(Settings::from(policy), expected);
}

#[test]
fn whoever_waits_for_a_store_that_stops_is_told() {
    let hands = Hands::start();
    let journal = Watched::that_fails_for_good();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("2", "1Gi", &hands)).unwrap();
    let mut health = store.health();
    health.mark_unchanged();
    journal.fail_after(0);
    assert!(store.submit(reserve(1, "2")).is_err());
    while !health.has_changed().unwrap() {
        thread::yield_now();
    }
    let failure = health.borrow().failure.clone().unwrap();
    assert!(failure.contains("the disk is full"), "{failure}");
    // What is durable can still be read.
    assert_eq!(store.view().counts().clusters, 1);
    assert!(matches!(store.confirm_clock(), Err(SubmitError::Stopped(_))));
}

#[test]
fn a_panic_of_the_writer_is_told_like_any_other_end() {
    struct Panics(Watched);
    impl Journal for Panics {
        fn commit(&mut self, _: &Batch) -> Result<(), JournalError> {
            panic!("as the test told it to")
        }
        fn reader(&self) -> std::sync::Arc<dyn Reader> {
            self.0.reader()
        }
    }
    let hands = Hands::start();
    let store = start(Panics(Watched::new()), &hands);
    let outcome = store.submit(advertise("2", "1Gi", &hands));
    assert!(matches!(outcome, Err(SubmitError::Stopped(_))), "{outcome:?}");
    while store.failure().is_none() {
        thread::yield_now();
    }
    assert!(matches!(store.submit(reserve(1, "1")), Err(SubmitError::Stopped(_))));
}

#[test]
fn what_ended_long_ago_is_forgotten_with_its_key() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "1")).unwrap();
    store.submit(release(1)).unwrap();
    hands.pass(7 * 24 * 60 * 60 - 1);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    assert_eq!(journal.contents().reservations.len(), 1);
    hands.pass(1);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    assert_eq!(journal.contents().reservations.len(), 0);
}

#[test]
fn what_was_done_is_counted() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_for(1, "1", 30)).unwrap();
    store.submit(reserve(2, "1")).unwrap();
    journal.fail_after(0);
    store.submit(reserve(3, "1")).unwrap_err();
    hands.pass(8 * 24 * 60 * 60);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    hands.pass(8 * 24 * 60 * 60);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let counted = store.meters().read();
    assert_eq!((counted.granted, counted.expired, counted.retired), (2, 1, 1));
    assert_eq!((counted.failed_commits, counted.became_stale), (1, 2));
    assert!(counted.commits >= 5 && counted.changes > counted.commits, "{counted:?}");
}

#[test]
fn settings_that_change_while_it_runs_count_from_then_on_also_after_a_failure() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("10", "1Gi", &hands)).unwrap();
    let longest = |hours: i64| {
        let longest = Some(Duration::from_seconds(hours * 3600));
        Settings::from(Policy { max_duration: longest, ..Policy::default() })
    };
    let ask = |number: u128, hours: i64| {
        let duration = Some(Duration::from_seconds(hours * 3600));
        reserve_with(number, "1", Terms { duration, ..Terms::default() })
    };
    store.submit(ask(1, 3)).unwrap();
    store.reconfigure(longest(2)).unwrap();
    let refused = store.submit(ask(2, 3)).unwrap_err();
    assert!(matches!(refused, SubmitError::Refused(Refusal::TooLong(_))), "{refused}");
    assert_eq!(store.view().fleet().policy().max_duration, longest(2).policy.max_duration);
    journal.fail_after(0);
    store.submit(ask(3, 1)).unwrap_err();
    let refused = store.submit(ask(4, 3)).unwrap_err();
    assert!(matches!(refused, SubmitError::Refused(Refusal::TooLong(_))), "{refused}");
    store.submit(ask(5, 2)).unwrap();
}

#[test]
fn under_a_shorter_limit_of_silence_requesters_are_listened_to_anew() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    store.submit(advertise("10", "1Gi", &hands)).unwrap();
    let since = |store: &Store| store.view().fleet().listening_since();
    let began = since(&store);
    let silence = |hours: i64| {
        let requester_gone_after = Duration::from_seconds(hours * 3600);
        Settings::from(Policy { requester_gone_after, ..Policy::default() })
    };
    hands.pass(60);
    store.reconfigure(silence(25)).unwrap();
    assert_eq!(since(&store), began, "a longer one");
    store.reconfigure(silence(1)).unwrap();
    assert_eq!(since(&store), began.plus(Duration::from_seconds(60)));
    hands.pass(60);
    store.reconfigure(silence(1)).unwrap();
    assert_eq!(since(&store), began.plus(Duration::from_seconds(60)), "the same");
}
