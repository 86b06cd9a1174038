//! What readers see: all that is durable, nothing that is not, in pages, and who is woken when.

use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command, Dimension, ReservationId};
use rear_store::view::{
    Counts, Cursor, CursorError, MAX_PAGE, MAX_SCANNED, PhaseName, Query, Role, Side, State,
};
use rear_store::{Memory, Store};

use super::stage::{Hands, Watched, advertise, release, reserve, start};

fn advertise_as(name: &str, hands: &Hands) -> Command {
    Command::Advertise {
        cluster: cluster(name),
        advertisement: Box::new(advertisement("1000", "1000Gi", hands.now())),
        holding: None,
    }
}

fn reserve_as(number: u128, requester: &str) -> Command {
    let ask = Box::new(ask(requester, resources("1", "1Gi")));
    Command::Reserve { id: id(number), ask, key: None, by: Actor::Cluster(cluster(requester)) }
}

fn all_pages(store: &Store, query: &Query, limit: usize) -> Vec<Vec<ReservationId>> {
    let mut pages = Vec::new();
    let mut cursor: Option<Cursor> = None;
    loop {
        let view = store.view();
        let page = view.reservations(query, cursor.as_ref(), limit).unwrap();
        pages.push(page.items.iter().map(|kept| kept.id).collect());
        let Some(next) = page.next else { return pages };
        // Through its text, as a client sends it back.
        cursor = Some(next.to_string().parse().unwrap());
    }
}

fn ids(numbers: &[u128]) -> Vec<ReservationId> {
    numbers.iter().map(|number| id(*number)).collect()
}

#[test]
fn what_was_answered_can_be_read_at_once() {
    let hands = Hands::start();
    let store = start(Watched::new(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let answer = store.submit(reserve(1, "1")).unwrap();
    let view = store.view();
    assert_eq!(view.position(), answer.position);
    assert_eq!(view.fleet().reservation(id(1)), answer.reservation.as_deref());
    assert_eq!(view.now(), hands.now());
}

#[test]
fn nobody_sees_what_is_not_durable_and_nobody_waits_for_the_disk() {
    let hands = Hands::start();
    let (journal, open) = Watched::gated();
    open.send(()).unwrap();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    let (told, outcome) = std::sync::mpsc::channel();
    store.submit_with(reserve(1, "1"), move |answer| told.send(answer).unwrap());
    while journal.commits() < 2 {
        std::thread::yield_now();
    }
    // It is decided, and its commit has begun.
    assert!(store.view().fleet().reservation(id(1)).is_none());
    open.send(()).unwrap();
    outcome.recv().unwrap().unwrap();
    assert!(store.view().fleet().reservation(id(1)).is_some());
}

#[test]
fn after_a_failed_commit_readers_see_what_is_durable() {
    let hands = Hands::start();
    let journal = Watched::new();
    let store = start(journal.clone(), &hands);
    store.submit(advertise("4", "1Gi", &hands)).unwrap();
    journal.fail_after(0);
    store.submit(reserve(1, "1")).unwrap_err();
    store.submit(reserve(2, "1")).unwrap();
    let view = store.view();
    assert!(view.fleet().reservation(id(1)).is_none());
    assert_eq!(view.counts().reserved, 1);
}

fn lending() -> Store {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise_as("p", &hands)).unwrap();
    for (number, requester) in [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "b")] {
        store.submit(reserve_as(number, requester)).unwrap();
    }
    // Now `a` lends as well, and has more room than `p`.
    store.submit(Command::Release { id: id(3), by: Actor::Cluster(cluster("a")) }).unwrap();
    store.submit(advertise_as("a", &hands)).unwrap();
    store.submit(reserve_as(6, "b")).unwrap();
    store.submit(Command::Activate { id: id(4), by: Actor::Cluster(cluster("a")) }).unwrap();
    store
}

#[test]
fn lists_are_filtered_by_side_and_phase() {
    let store = lending();
    let list = |side: Option<Side>, phase| all_pages(&store, &Query { side, phase }, 100).concat();
    let a = || cluster("a");
    assert_eq!(list(None, None), ids(&[1, 2, 3, 4, 5, 6]));
    assert_eq!(list(Some(Side::Requester(a())), None), ids(&[1, 3, 4]));
    assert_eq!(list(Some(Side::Provider(a())), None), ids(&[6]));
    assert_eq!(list(Some(Side::Either(a())), None), ids(&[1, 3, 4, 6]));
    assert_eq!(list(Some(Side::Either(cluster("nobody"))), None), ids(&[]));
    assert_eq!(list(None, Some(PhaseName::Released)), ids(&[3]));
    assert_eq!(list(None, Some(PhaseName::Active)), ids(&[4]));
    assert_eq!(list(Some(Side::Either(a())), Some(PhaseName::Reserved)), ids(&[1, 6]));
    assert_eq!(list(None, Some(PhaseName::Failed)), ids(&[]));
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let store = lending();
    let query = Query { side: Some(Side::Either(cluster("a"))), phase: None };
    assert_eq!(all_pages(&store, &query, 3), [ids(&[1, 3, 4]), ids(&[6])]);
    assert_eq!(all_pages(&store, &query, 4), [ids(&[1, 3, 4, 6])]);
    assert_eq!(all_pages(&store, &query, 0).len(), 4, "a page has at least one row");
    let view = store.view();
    let first = view.clusters(None, 2).unwrap();
    let names = |page: &rear_store::view::Page<&rear_engine::fleet::Cluster>| {
        page.items.iter().map(|kept| kept.record().id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&first), ["a", "p"]);
    assert!(first.next.is_none(), "{:?}", first.next);
    let first = view.clusters(None, 1).unwrap();
    let second = view.clusters(first.next.as_ref(), 1).unwrap();
    assert_eq!((names(&first), names(&second)), (vec!["a".to_owned()], vec!["p".to_owned()]));
}

#[test]
fn what_a_cluster_gave_and_took_is_one_list_by_age() {
    let store = lending();
    store.submit(reserve_as(7, "a")).unwrap();
    let query = Query { side: Some(Side::Either(cluster("a"))), phase: None };
    assert_eq!(all_pages(&store, &query, 2), [ids(&[1, 3]), ids(&[4, 6]), ids(&[7])]);
}

#[test]
fn pages_of_live_promises_go_on_where_the_last_one_ended() {
    let store = lending();
    let view = store.view();
    let page =
        |from: Option<&Cursor>| view.promises(&cluster("p"), Role::Provider, from, 2).unwrap();
    let found = |page: &rear_store::view::Page<&rear_engine::Reservation>| {
        page.items.iter().map(|kept| kept.id).collect::<Vec<_>>()
    };
    let first = page(None);
    let second = page(first.next.as_ref());
    assert_eq!((found(&first), found(&second)), (ids(&[1, 2]), ids(&[4, 5])));
    assert!(second.next.is_none(), "{:?}", second.next);
}

#[test]
fn the_fleet_in_numbers_is_the_sum_of_its_clusters() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise_as("p", &hands)).unwrap();
    for number in 1..=3 {
        store.submit(reserve_as(number, "a")).unwrap();
        store
            .submit(Command::Activate { id: id(number), by: Actor::Cluster(cluster("a")) })
            .unwrap();
    }
    store.submit(Command::Hear { cluster: cluster("s") }).unwrap();
    hands.pass(24 * 60 * 60);
    for provider in ["q", "t"] {
        store.submit(advertise_as(provider, &hands)).unwrap();
    }
    let tally = store.tally(true);
    let states = State::ALL.map(|state| (state.name(), tally.clusters(state)));
    let expected =
        [("active", 2), ("recovering", 0), ("stale", 1), ("overcommitted", 0), ("silent", 1)];
    assert_eq!(states, expected);
    let cores = |amounts: &rear_store::view::Amounts| {
        [amounts.allocatable, amounts.reserved, amounts.available]
            .map(|sum| format!("{}", sum.in_units(Dimension::Cpu)))
    };
    assert_eq!(cores(&tally.all), ["3000", "3", "2997"]);
    let each: Vec<_> = tally.each.iter().map(|(id, each)| (id.to_string(), cores(each))).collect();
    let row = |name: &str, sums: [&str; 3]| (name.to_owned(), sums.map(str::to_owned));
    let rest = ["1000", "0", "1000"];
    assert_eq!(each, [row("p", ["1000", "3", "997"]), row("q", rest), row("t", rest)]);
    assert_eq!(store.tally(false).each, []);
}

#[test]
fn a_page_stays_valid_while_things_come_and_go() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    store.submit(advertise_as("p", &hands)).unwrap();
    for number in [10, 20, 30] {
        store.submit(reserve_as(number, "a")).unwrap();
    }
    let first = store.view().reservations(&Query::default(), None, 2).unwrap().next.unwrap();
    // The row that the cursor names may go, and others may come before and after it.
    for number in [5, 25] {
        store.submit(reserve_as(number, "a")).unwrap();
    }
    let view = store.view();
    let second = view.reservations(&Query::default(), Some(&first), 2).unwrap();
    assert_eq!(second.items.iter().map(|kept| kept.id).collect::<Vec<_>>(), ids(&[25, 30]));
}

#[test]
fn a_cursor_that_is_not_ours_or_of_another_life_is_refused() {
    let store = lending();
    let view = store.view();
    let present: Cursor = "1.3~anything".parse().unwrap();
    assert_eq!(
        view.reservations(&Query::default(), Some(&present), 9),
        Err(CursorError::Malformed)
    );
    let gone = format!("2.3~{}", id(1)).parse().unwrap();
    let refused = view.reservations(&Query::default(), Some(&gone), 9).unwrap_err();
    assert_eq!(refused, CursorError::Gone { found: 2, present: 1 });
    for text in ["", "1.3", "x~y", "1~y", "~"] {
        assert_eq!(text.parse::<Cursor>(), Err(CursorError::Malformed), "{text:?}");
    }
}

#[test]
fn a_filter_that_fits_little_gives_short_pages_and_not_a_long_wait() {
    let hands = Hands::start();
    let mut journal = Memory::new(7, 1, 1).unwrap();
    super::crowd::fill(&mut journal, u128::try_from(MAX_SCANNED).unwrap() + 5, hands.now());
    let store = start(journal, &hands);
    let failed = Query { side: None, phase: Some(PhaseName::Failed) };
    let pages = all_pages(&store, &failed, 10);
    assert_eq!(pages, [ids(&[]), ids(&[])]);
    let every = all_pages(&store, &Query::default(), usize::MAX);
    assert_eq!(every[0].len(), MAX_PAGE);
    assert_eq!(every.concat().len(), MAX_SCANNED + 5);
}

#[test]
fn counts_follow_every_change() {
    let store = lending();
    let expected = Counts { clusters: 2, reserved: 4, active: 1, released: 1, failed: 0 };
    assert_eq!(store.view().counts(), expected);
    let by = Actor::Cluster(cluster("p"));
    store.submit(Command::Reject { id: id(4), reason: "full".parse().unwrap(), by }).unwrap();
    let expected = Counts { active: 0, failed: 1, ..expected };
    assert_eq!(store.view().counts(), expected);
}

#[test]
fn counts_and_lists_are_the_same_after_a_restart() {
    let hands = Hands::start();
    let journal = Memory::new(7, 1, 1).unwrap();
    let first = start(journal.clone(), &hands);
    first.submit(advertise("9", "1Gi", &hands)).unwrap();
    for number in 1..=5 {
        first.submit(reserve(number, "1")).unwrap();
    }
    first.submit(release(2)).unwrap();
    let before = (first.view().counts(), all_pages(&first, &Query::default(), 2));
    drop(first);
    let second = start(journal, &hands);
    assert_eq!((second.view().counts(), all_pages(&second, &Query::default(), 2)), before);
}

#[test]
fn each_side_has_news_of_its_own_and_time_forgets_what_is_dropped() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    let began = store.view().position();
    store.submit(advertise_as("p", &hands)).unwrap();
    let first = store.submit(reserve_as(1, "a")).unwrap().position;
    let second = store.submit(reserve_as(2, "b")).unwrap().position;
    let last = |name: &str, role| store.view().last_change(&cluster(name), role);
    assert_eq!(last("a", Role::Requester), first);
    assert_eq!(last("a", Role::Provider), began);
    assert_eq!(last("b", Role::Requester), second);
    assert_eq!(last("p", Role::Provider), second);
    assert_eq!(last("nobody", Role::Provider), began);
    let by = Actor::Cluster(cluster("a"));
    store.submit(Command::Release { id: id(1), by }).unwrap();
    hands.pass(8 * 24 * 60 * 60);
    store.submit(advertise_as("p", &hands)).unwrap();
    assert!(store.view().fleet().reservation(id(1)).is_none(), "remembered for a week");
    assert_eq!(store.view().counts().released, 0);
    assert_eq!(all_pages(&store, &Query::default(), 9).concat(), ids(&[2]));
    let side = Some(Side::Requester(cluster("a")));
    assert_eq!(all_pages(&store, &Query { side, phase: None }, 9).concat(), ids(&[]));
}

#[test]
fn a_forgotten_cluster_leaves_the_list() {
    let store = lending();
    let by = Actor::Administrator(cluster("operator"));
    store.submit(Command::Forget { cluster: cluster("p"), by }).unwrap();
    let view = store.view();
    let left: Vec<_> =
        view.clusters(None, 9).unwrap().items.iter().map(|kept| kept.record().id.clone()).collect();
    assert_eq!(left, [cluster("a")]);
    assert_eq!(view.counts().clusters, 1);
}

#[test]
fn whoever_is_forgotten_has_news_of_it_while_anything_of_it_is_remembered() {
    let hands = Hands::start();
    let store = start(Memory::new(7, 1, 1).unwrap(), &hands);
    let began = store.view().position();
    for provider in ["p", "q"] {
        store.submit(advertise_as(provider, &hands)).unwrap();
    }
    for number in 1..=4 {
        store.submit(reserve_as(number, "a")).unwrap();
    }
    let last = |name: &str, role| store.view().last_change(&cluster(name), role);
    let by = Actor::Administrator(cluster("operator"));
    let forgotten = store.submit(Command::Forget { cluster: cluster("p"), by }).unwrap().position;
    assert_eq!(last("p", Role::Provider), forgotten, "its promises have just ended");
    assert_eq!(last("a", Role::Requester), forgotten);
    hands.pass(8 * 24 * 60 * 60);
    store.submit(advertise_as("q", &hands)).unwrap();
    assert_eq!(store.view().counts().failed, 0, "nobody remembers what ended with it");
    assert_eq!(last("p", Role::Provider), began);
    // What `a` still holds is on `q`.
    assert_eq!(last("a", Role::Requester), forgotten);
    assert!(last("q", Role::Provider) > began);
}
