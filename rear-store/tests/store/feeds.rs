//! The feed: every event once, in order, from any point that is still known; and who is woken by what.

use rear_engine::testing::{ask, cluster, id, resources};
use rear_engine::{Actor, Command, Duration, Happening, Policy};
use rear_store::settings::EventRetention;
use rear_store::view::{MAX_SCANNED, RECENT};
use rear_store::{
    Commit, EventId, FeedError, Journal, Memory, Position, RedbJournal, Settings, Store, Stretch,
};

use super::disk::Disk;
use super::stage::{Hands, Watched, advertise, release, reserve, start};

fn reserve_as(number: u128, requester: &str) -> Command {
    let ask = Box::new(ask(requester, resources("1m", "1Mi")));
    Command::Reserve { id: id(number), ask, key: None, by: Actor::Cluster(cluster(requester)) }
}

fn beginning() -> EventId {
    Position::start_of(1).into()
}

fn events(stretch: &Stretch) -> Vec<&Happening> {
    stretch.events.iter().map(|told| &told.event.what).collect()
}

/// Every event after one, in stretches of `limit`.
fn follow(
    store: &Store,
    mut last: EventId,
    concerning: Option<&str>,
    limit: usize,
) -> Vec<EventId> {
    let concerning = concerning.map(cluster);
    let mut found = Vec::new();
    loop {
        let stretch = store.events_after(last, concerning.as_ref(), limit).unwrap();
        found.extend(stretch.events.iter().map(|told| told.id));
        last = stretch.through;
        if stretch.complete {
            return found;
        }
    }
}

#[test]
fn what_happened_is_told_in_order_from_any_event_on() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve(1, "1")).unwrap();
    store.submit(release(1)).unwrap();
    let all = store.events_after(beginning(), None, 10).unwrap();
    assert!(all.complete);
    assert_eq!(all.through, store.view().position().into());
    let [Happening::Advertised, Happening::Reserved, Happening::Ended(_)] = events(&all)[..] else {
        panic!("{:?}", events(&all));
    };
    let rest = store.events_after(all.events[1].id, None, 10).unwrap();
    assert_eq!(rest.events, all.events[2..]);
    let first = store.events_after(beginning(), None, 1).unwrap();
    assert_eq!((first.events.len(), first.complete), (1, false));
    assert_eq!(first.through, all.events[0].id);
    let none = store.events_after(all.through, None, 10).unwrap();
    assert_eq!((none.events.len(), none.complete, none.through), (0, true, all.through));
}

#[test]
fn each_cluster_hears_what_concerns_it() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_as(1, "a")).unwrap();
    store.submit(reserve_as(2, "b")).unwrap();
    let all = follow(&store, beginning(), None, 100);
    assert_eq!(all.len(), 3);
    assert_eq!(follow(&store, beginning(), Some("p"), 1), all);
    assert_eq!(follow(&store, beginning(), Some("a"), 1), all[1..2]);
    assert_eq!(follow(&store, beginning(), Some("b"), 1), all[2..]);
    assert_eq!(follow(&store, beginning(), Some("stranger"), 1), []);
}

#[test]
fn whoever_is_far_behind_or_comes_after_a_restart_reads_from_the_disk() {
    let hands = Hands::start();
    let disk = Disk::new();
    let open = || RedbJournal::on_backend(disk.clone(), 7, Commit::OnePhase).unwrap();
    let store = start(open(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    for number in 1..=20 {
        store.submit(reserve_as(number, if number % 2 == 0 { "a" } else { "b" })).unwrap();
    }
    let before = follow(&store, beginning(), None, 100);
    let of_a = follow(&store, beginning(), Some("a"), 100);
    assert_eq!((before.len(), of_a.len()), (21, 10));
    drop(store);
    let store = start(open(), &hands);
    assert_eq!(follow(&store, beginning(), None, 7), before);
    assert_eq!(follow(&store, beginning(), Some("a"), 3), of_a);
    store.submit(reserve_as(21, "a")).unwrap();
    let after = follow(&store, beginning(), None, 5);
    assert_eq!(after[..21], before);
    assert_eq!(after.len(), 22);
}

#[test]
fn memory_and_disk_tell_the_same_when_the_memory_is_full() {
    let hands = Hands::start();
    let mut journal = Memory::new(7, 1, 1).unwrap();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    drop(store);
    // One commit with more events than are kept at hand.
    let told = journal.reader().events_after(beginning(), 1).unwrap().remove(0).1;
    let position = journal.load().unwrap().meta.position.next().unwrap();
    let mut batch = rear_store::Batch::empty(position, hands.now());
    batch.events = vec![told; RECENT + 10];
    journal.commit(&batch).unwrap();
    let store = start(journal, &hands);
    let all = follow(&store, beginning(), None, 5000);
    assert_eq!(all.len(), RECENT + 11);
    assert!(all.is_sorted());
    assert_eq!(follow(&store, beginning(), None, usize::MAX), all, "however much is asked for");
}

#[test]
fn what_is_not_known_any_more_is_said_to_be_gone() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 2, 2).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    for gone in ["1.0-0", "1.99-0", "3.0-0", "2.7-0"] {
        let refused = store.events_after(gone.parse().unwrap(), None, 9).unwrap_err();
        assert!(matches!(refused, FeedError::Gone(_)), "{gone}: {refused}");
        assert_eq!(
            refused.to_string(),
            format!("what happened after event {gone} is not known any more: list again")
        );
    }
}

fn keeping(age: &str, count: usize) -> Settings {
    let age: Duration = age.parse().unwrap();
    Settings { events: EventRetention { age, count }, ..Policy::default().into() }
}

fn kept_events(journal: &Memory) -> usize {
    journal.reader().events_after(beginning(), usize::MAX).unwrap().len()
}

#[test]
fn old_events_go_and_young_ones_stay() {
    let hands = Hands::start();
    let journal = Memory::new(7, 1, 1).unwrap();
    let store = Store::start(journal.clone(), keeping("16h", 1000), hands.clone()).unwrap();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let old = store.submit(reserve(1, "1")).unwrap().position;
    hands.pass(10 * 60 * 60);
    store.submit(advertise("5", "1Gi", &hands)).unwrap();
    let young = store.submit(reserve(2, "1")).unwrap().position;
    for seconds in [6 * 60 * 60 + 30 * 60, 30 * 60] {
        hands.pass(seconds);
        store.confirm_clock().unwrap();
        let kept = store.events_after(beginning(), None, 9);
        assert!(kept.is_ok(), "too old, and by no more than a sixteenth");
    }
    hands.pass(1);
    // Two events are older than sixteen hours and a sixteenth of it.
    store.submit(advertise("6", "1Gi", &hands)).unwrap();
    assert!(matches!(store.events_after(beginning(), None, 9), Err(FeedError::Gone(_))));
    let rest = follow(&store, old.into(), None, 9);
    assert_eq!(rest.len(), kept_events(&journal), "the old ones went and no other");
    assert!(rest.iter().any(|id| id.position == young));
    drop(store);
    // What is gone stays gone after a restart.
    let store = start(journal, &hands);
    assert!(matches!(store.events_after(beginning(), None, 9), Err(FeedError::Gone(_))));
}

#[test]
fn too_many_events_go_oldest_first_and_not_one_by_one() {
    let hands = Hands::start();
    let journal = Memory::new(7, 1, 1).unwrap();
    let store = Store::start(journal.clone(), keeping("1000h", 160), hands.clone()).unwrap();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let mut sizes = Vec::new();
    for number in 1..=300 {
        store.submit(reserve_as(number, "a")).unwrap();
        sizes.push(kept_events(&journal));
    }
    let largest = sizes.iter().max().unwrap();
    // A sixteenth more than the limit, and the event that tips it over.
    assert_eq!(*largest, 171);
    assert_eq!(sizes.windows(2).filter(|pair| pair[1] < pair[0]).count(), 12);
    assert!(sizes[170..].iter().all(|size| (160..=171).contains(size)), "{sizes:?}");
    drop(store);
    let store = Store::start(journal.clone(), keeping("1000h", 16), hands).unwrap();
    store.submit(reserve_as(301, "a")).unwrap();
    assert!(kept_events(&journal) <= 18, "{}", kept_events(&journal));
}

#[test]
fn only_those_are_woken_whom_it_concerns() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let mut of_a = store.subscribe(Some(&cluster("a")));
    let mut also_of_a = store.subscribe(Some(&cluster("a")));
    let of_b = store.subscribe(Some(&cluster("b")));
    let mut of_p = store.subscribe(Some(&cluster("p")));
    let mut of_all = store.subscribe(None);
    let position = store.submit(reserve_as(1, "a")).unwrap().position;
    for news in [&mut of_a, &mut also_of_a, &mut of_p, &mut of_all] {
        assert!(news.has_changed().unwrap());
        assert_eq!(*news.borrow_and_update(), position);
        assert!(!news.has_changed().unwrap());
    }
    assert!(!of_b.has_changed().unwrap());
    // A repeated word is no news.
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_as(2, "b")).unwrap();
    assert!(!of_a.has_changed().unwrap() && of_b.has_changed().unwrap());
}

#[test]
fn many_who_come_and_go_leave_nothing_behind_and_take_nobody_with_them() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let [stays, _also] = ["patient", "calm"].map(|name| store.subscribe(Some(&cluster(name))));
    for number in 0..10_000 {
        drop(store.subscribe(Some(&cluster(&format!("visitor-{number}")))));
    }
    let remembered = store.listened_for();
    assert!((2..10).contains(&remembered), "{remembered} are remembered");
    store.submit(reserve_as(1, "patient")).unwrap();
    assert!(stays.has_changed().unwrap());
}

#[test]
fn everyone_looks_again_after_a_commit_that_may_have_happened() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let news = [store.subscribe(None), store.subscribe(Some(&cluster("bystander")))];
    journal.fail_after(0);
    assert!(store.submit(reserve_as(1, "a")).is_err());
    // Nobody knows whether it was concerned.
    for news in news {
        while !news.has_changed().unwrap() {
            std::thread::yield_now();
        }
        let position = journal.contents().meta.position;
        assert_eq!((*news.borrow(), store.view().position()), (position, position));
    }
}

#[test]
fn what_is_durable_and_not_yet_shown_is_told_later_and_not_never() {
    let hands = Hands::start();
    let (journal, open) = Watched::that_returns_late();
    let store = start(journal.clone(), &hands);
    open.send(()).unwrap();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    drop(store);
    let store = start(journal.clone(), &hands);
    // Dropped before the store if a claim fails: a store that waits at the gate would wait for ever.
    let open = open;
    let (told, answer) = std::sync::mpsc::channel();
    store.submit_with(reserve_as(1, "a"), move |outcome| told.send(outcome).unwrap());
    while journal.contents().reservations.is_empty() {
        std::thread::yield_now();
    }
    // It is on the disk; the writer has not come back from there.
    let everyone = store.events_after(beginning(), None, 9).unwrap();
    assert_eq!(events(&everyone), [&Happening::Advertised]);
    let early = store.events_after(beginning(), Some(&cluster("a")), 9).unwrap();
    assert!(early.complete && early.events.is_empty());
    open.send(()).unwrap();
    let position = answer.recv().unwrap().unwrap().position;
    let after = follow(&store, early.through, Some("a"), 9);
    assert_eq!(after, [EventId { position, place: 0 }]);
}

#[test]
fn what_is_trimmed_and_not_yet_shown_to_be_is_gone_and_not_left_out() {
    let hands = Hands::start();
    let (journal, open) = Watched::that_returns_late();
    let few = keeping("1000h", 2);
    let store = Store::start(journal.clone(), few.clone(), hands.clone()).unwrap();
    for command in [advertise("4", "1Gi", &hands), reserve(1, "1")] {
        open.send(()).unwrap();
        store.submit(command).unwrap();
    }
    drop(store);
    let store = Store::start(journal.clone(), few, hands).unwrap();
    let open = open;
    let (told, answers) = std::sync::mpsc::channel();
    let kept = || journal.reader().meta().unwrap().trimmed_through;
    let before = kept();
    for number in 2..9 {
        let told = told.clone();
        store.submit_with(reserve(number, "1m"), move |outcome| drop(told.send(outcome)));
        while journal.contents().reservations.len() < usize::try_from(number).unwrap() {
            std::thread::yield_now();
        }
        if kept() != before {
            break;
        }
        open.send(()).unwrap();
        answers.recv().unwrap().unwrap();
    }
    // The oldest are gone from the disk; the writer has not come back from there.
    assert_ne!(store.view().trimmed_through(), kept());
    let stretch = store.events_after(beginning(), None, 9);
    assert!(matches!(stretch, Err(FeedError::Gone(_))), "{stretch:?}");
    assert!(store.events_after(EventId::end_of(kept()), None, 9).is_ok(), "the rest is there");
    open.send(()).unwrap();
}

#[test]
fn events_of_which_nobody_knows_whom_they_concern_are_not_passed_over_in_silence() {
    let hands = Hands::start();
    let journal = Memory::new(7, 1, 1).unwrap();
    let open = || Store::start(journal.clone(), keeping("1000h", 1000), hands.clone()).unwrap();
    let store = open();
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    store.submit(reserve_as(1, "a")).unwrap();
    let by = Actor::Cluster(cluster("a"));
    let ended = store.submit(Command::Release { id: id(1), by }).unwrap().position;
    hands.pass(8 * 24 * 60 * 60);
    store.submit(advertise("5", "1Gi", &hands)).unwrap();
    store.submit(reserve_as(2, "a")).unwrap();
    drop(store);
    let store = open();
    let missed = store.events_after(beginning(), Some(&cluster("a")), 9);
    assert!(matches!(missed, Err(FeedError::Gone(_))), "{missed:?}");
    assert_eq!(follow(&store, beginning(), None, 9).len(), kept_events(&journal));
    assert_eq!(follow(&store, ended.into(), Some("a"), 9).len(), 1);
}

#[test]
fn whoever_looks_for_little_among_much_looks_in_turns() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise("1000", "1000Gi", &hands)).unwrap();
    let (told, answers) = std::sync::mpsc::channel();
    let mut numbers = 1..=u128::try_from(MAX_SCANNED + 5).unwrap();
    while !numbers.is_empty() {
        let wave: Vec<_> = numbers.by_ref().take(4000).collect();
        for number in &wave {
            let told = told.clone();
            store.submit_with(reserve_as(*number, "a"), move |done| told.send(done).unwrap());
        }
        answers.iter().take(wave.len()).for_each(|answer| drop(answer.unwrap()));
    }
    let all = follow(&store, beginning(), None, MAX_SCANNED);
    let looked = store.events_after(beginning(), Some(&cluster("stranger")), 9).unwrap();
    assert_eq!((looked.events.len(), looked.complete), (0, false));
    assert_eq!(looked.through, all[MAX_SCANNED - 1]);
    assert_eq!(follow(&store, beginning(), Some("a"), MAX_SCANNED).len(), MAX_SCANNED + 5);
}

#[test]
fn time_that_passes_wakes_nobody_and_what_changes_without_an_event_wakes_whoever_follows_all() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    let of_all = store.subscribe(None);
    hands.pass(1);
    while store.view().now() != hands.now() {
        std::thread::yield_now();
    }
    store.confirm_clock().unwrap();
    assert!(!of_all.has_changed().unwrap());
    let heard = store.submit(Command::Hear { cluster: cluster("a") }).unwrap().position;
    assert!(of_all.has_changed().unwrap());
    assert_eq!(*of_all.borrow(), heard);
}
