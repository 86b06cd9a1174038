//! Damage is found and named: the auditor of states, the witness of histories, and changes that do not fit.

use std::sync::Arc;

use rear_engine::advertisement::{Consumed, Order};
use rear_engine::audit::{Books, Violation, Witness, books};
use rear_engine::fleet::{ClusterRecord, Divergence};
use rear_engine::reservation::{Failed, Failure, Release, Released};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{
    Ask, Change, ClusterId, Decision, Dimension, Event, Happening, Phase, Reservation, Resources,
    Subject, Terms,
};

use super::stage::{Stage, of};

fn one_promise() -> (Stage, Reservation) {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi");
    let made = stage.try_reserve_as(ask("r", resources("1", "1Gi")), Some("k")).unwrap();
    (stage, made)
}

fn released(made: &Reservation) -> Reservation {
    let mut stage = Stage::on(one_promise().0.fleet);
    stage.act(rear_engine::Command::Release { id: made.id, by: of("r") }).unwrap();
    stage.fleet.reservation(made.id).unwrap().clone()
}

fn audit(ledgers: &[(&ClusterId, Resources)], reservations: &[&Reservation]) -> Vec<Violation> {
    books(&Books {
        ledgers: ledgers.iter().copied().collect(),
        reservations: reservations.to_vec(),
    })
}

#[test]
fn clean_books_have_nothing_to_report() {
    let (stage, made) = one_promise();
    let open = Books::of(&stage.fleet);
    assert_eq!(open.ledgers.get(&cluster("p")), Some(&resources("1", "1Gi")));
    assert_eq!(open.reservations, [&made]);
    assert_eq!(books(&open), []);
    assert_eq!(audit(&[(&cluster("p"), Resources::NONE)], &[&released(&made)]), []);
}

#[test]
fn a_ledger_that_differs_is_named_with_its_amounts() {
    let (_, made) = one_promise();
    let found = audit(&[(&cluster("p"), resources("1001m", "1Gi"))], &[&made]);
    assert_eq!(
        found,
        [Violation::LedgerMismatch {
            cluster: cluster("p"),
            dimension: Dimension::Cpu,
            ledger: 1001,
            sum: 1000
        }]
    );
    assert_eq!(
        found[0].to_string(),
        "cpu on p: the ledger says 1001, the reservations sum up to 1000"
    );
    assert_eq!(audit(&[(&cluster("p"), Resources::NONE)], &[&made]).len(), 2);
}

#[test]
fn a_promise_without_a_ledger_or_to_oneself_or_under_a_shared_key_is_named() {
    let (_, made) = one_promise();
    let homeless = audit(&[], &[&made]);
    assert_eq!(homeless, [Violation::NoLedger { reservation: made.id, cluster: cluster("p") }]);
    let own = Reservation { provider: cluster("r"), ..made.clone() };
    let found = audit(&[(&cluster("r"), resources("1", "1Gi"))], &[&own]);
    assert_eq!(found, [Violation::SelfServed { reservation: made.id, cluster: cluster("r") }]);
    let twin = Reservation { id: id(2), ..released(&made) };
    let found = audit(&[(&cluster("p"), resources("1", "1Gi"))], &[&made, &twin]);
    assert_eq!(found, [Violation::KeyShared { first: made.id, second: id(2) }]);
}

fn decision(changes: Vec<Change>) -> Decision {
    Decision { subject: Subject::Fleet, changes, events: Vec::new() }
}

fn objection(stage: &Stage, changes: Vec<Change>) -> Violation {
    let mut witness = Witness::of(&stage.fleet);
    witness.observe(&decision(changes), stage.now).unwrap_err()
}

fn put(reservation: &Reservation) -> Change {
    Change::Reservation(Arc::new(reservation.clone()))
}

fn ledger(total: Resources) -> Change {
    Change::Ledger { cluster: cluster("p"), total }
}

#[test]
fn the_witness_objects_to_what_history_does_not_allow() {
    let (stage, made) = one_promise();
    let ended = released(&made);
    let gone = cluster("p");
    assert_eq!(
        objection(&stage, vec![put(&ended)]),
        Violation::NotGivenBack { cluster: gone.clone() }
    );
    assert!(matches!(
        objection(&stage, vec![put(&ended), ledger(resources("1m", "0"))]),
        Violation::LedgerMismatch { .. }
    ));
    let moved = Reservation { provider: cluster("q"), ..made.clone() };
    let elsewhere = Violation::Backwards { reservation: made.id };
    assert_eq!(objection(&stage, vec![put(&moved)]), elsewhere);
    let earlier =
        Reservation { reserved_at: stage.now.plus("-1s".parse().unwrap()), ..made.clone() };
    assert_eq!(objection(&stage, vec![put(&earlier)]), elsewhere);
    let twin = Reservation { id: id(49), ..made.clone() };
    assert_eq!(
        objection(&stage, vec![put(&twin), ledger(resources("2", "2Gi"))]),
        Violation::KeyShared { first: made.id, second: id(49) }
    );
    let born_dead = Reservation { id: id(50), key: None, ..ended };
    assert_eq!(
        objection(&stage, vec![put(&born_dead)]),
        Violation::Backwards { reservation: id(50) }
    );
}

#[test]
fn the_witness_needs_no_event_to_notice_a_grant_beyond_what_is_there() {
    let (stage, made) = one_promise();
    let ask = ask("s", resources("100", "1Gi"));
    let silent = Reservation { id: id(9), ask, key: None, reserved_at: stage.now, ..made };
    let found = objection(&stage, vec![put(&silent), ledger(resources("101", "2Gi"))]);
    assert!(matches!(found, Violation::GrantedTwice { available: -97_000, .. }), "{found}");
    // Nor has a cluster that does not advertise anything to give.
    let nowhere = Reservation { provider: cluster("q"), ..silent };
    let entry = Change::Ledger { cluster: cluster("q"), total: resources("100", "1Gi") };
    let found = objection(&stage, vec![put(&nowhere), entry]);
    assert!(matches!(found, Violation::GrantedTwice { .. }), "{found}");
}

#[test]
fn the_witness_counts_what_a_requester_uses_against_what_it_was_promised() {
    let mut stage = Stage::new();
    let two = resources("2", "2Gi");
    let mut told = advertisement("4", "4Gi", stage.now);
    told.allocated = two;
    told.consumed = Consumed::new([(cluster("r"), two)]).unwrap();
    stage.advertise("p", told).unwrap();
    let made = stage.reserve(ask("r", two));
    let grant = |cpu: &str| {
        let ask = ask("s", resources(cpu, "2Gi"));
        let new = Reservation { id: id(9), ask, reserved_at: stage.now, ..made.clone() };
        let total = made.held().checked_add(new.held()).unwrap();
        Witness::of(&stage.fleet).observe(&decision(vec![put(&new), ledger(total)]), stage.now)
    };
    assert_eq!(grant("2"), Ok(()), "half of it is left");
    let beyond = grant("2001m");
    assert!(matches!(beyond, Err(Violation::GrantedTwice { available: -1, .. })), "{beyond:?}");
}

#[test]
fn the_witness_lets_an_advertisement_adopt_and_nothing_else() {
    let (stage, made) = one_promise();
    let told = |subject, what| Event { at: stage.now, subject, what, by: of("q") };
    let advertised = told(Subject::Cluster(cluster("q")), Happening::Advertised);
    let adopts = |id| vec![advertised.clone(), told(Subject::Reservation(id), Happening::Adopted)];
    let observe = |changes, events| {
        let subject = Subject::Cluster(cluster("q"));
        Witness::of(&stage.fleet).observe(&Decision { subject, changes, events }, stage.now)
    };
    let of_p = Err(Violation::Advertisement { cluster: cluster("p") });
    let end = vec![put(&released(&made)), ledger(Resources::NONE)];
    assert_eq!(observe(end.clone(), vec![advertised.clone()]), of_p);
    assert_eq!(observe(end, adopts(made.id)), of_p);
    // A promise on somebody else.
    let foreign = Reservation { id: id(9), key: None, ..made.clone() };
    assert_eq!(observe(vec![put(&foreign), ledger(resources("2", "2Gi"))], adopts(id(9))), of_p);
    let own = Reservation { provider: cluster("q"), ..foreign };
    let entry = Change::Ledger { cluster: cluster("q"), total: resources("1", "1Gi") };
    assert_eq!(observe(vec![put(&own), entry], adopts(id(9))), Ok(()));
}

#[test]
fn the_witness_lets_a_provider_know_of_a_later_end_and_of_nothing_else() {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi");
    let terms = Terms { duration: Some("1h".parse().unwrap()), ..Terms::default() };
    let made = stage.reserve(Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap());
    let says = |stage: &Stage, new: &Reservation| {
        let told = |subject, what| Event { at: stage.now, subject, what, by: of("p") };
        let subject = Subject::Cluster(cluster("p"));
        let events = vec![
            told(subject.clone(), Happening::Advertised),
            told(Subject::Reservation(made.id), Happening::Adopted),
        ];
        let decision = Decision { subject, changes: vec![put(new)], events };
        Witness::of(&stage.fleet).observe(&decision, stage.now)
    };
    let until = |span: &str, of: &Reservation| {
        let end = of.expires_at.map(|end| end.plus(span.parse().unwrap()));
        Reservation { expires_at: end, ..of.clone() }
    };
    let objection = Err(Violation::Advertisement { cluster: cluster("p") });
    assert_eq!(says(&stage, &until("1ns", &made)), Ok(()));
    assert_eq!(says(&stage, &until("0", &made)), objection, "nothing has changed");
    assert_eq!(says(&stage, &until("-1ns", &made)), objection, "it is earlier");
    assert_eq!(says(&stage, &Reservation { expires_at: None, ..made.clone() }), objection);
    let more = Reservation { ask: ask("r", resources("2", "2Gi")), ..made.clone() };
    assert_eq!(says(&stage, &until("1ns", &more)), objection, "it is another promise");
    stage.act(rear_engine::Command::Release { id: made.id, by: of("r") }).unwrap();
    let ended = stage.fleet.reservation(made.id).unwrap().clone();
    assert_eq!(says(&stage, &until("1ns", &ended)), objection, "it has ended");
}

#[test]
fn the_witness_objects_to_an_older_refreshment_and_to_early_endings() {
    let (mut stage, made) = one_promise();
    let refreshed = |epoch| Change::Refreshed {
        cluster: cluster("p"),
        at: stage.now,
        timestamp: stage.now,
        order: Some(Order { epoch, sequence: 1 }),
        durable: true,
    };
    let mut witness = Witness::of(&stage.fleet);
    witness.observe(&decision(vec![refreshed(5)]), stage.now).unwrap();
    let older = witness.observe(&decision(vec![refreshed(4)]), stage.now);
    assert_eq!(older, Err(Violation::Advertisement { cluster: cluster("p") }));
    let gone = Phase::Released(Released { at: stage.now, why: Release::RequesterGone });
    let gone = Reservation { phase: gone, ..made.clone() };
    let end = || vec![put(&gone), ledger(Resources::NONE)];
    let early = Violation::EndedEarly { reservation: made.id };
    assert_eq!(objection(&stage, end()), early, "it was never heard");
    stage.act(rear_engine::Command::Hear { cluster: cluster("r") }).unwrap();
    let heard = stage.now;
    stage.pass("23h59m");
    assert_eq!(objection(&stage, end()), early, "it was heard {heard:?}");
    stage.pass("1m");
    Witness::of(&stage.fleet).observe(&decision(end()), stage.now).unwrap();
    let past = Reservation { expires_at: Some(stage.now), ..made.clone() };
    assert_eq!(objection(&stage, vec![put(&past)]), Violation::Backwards { reservation: made.id });
    assert_eq!(
        objection(&stage, vec![Change::Dropped(made.id)]),
        Violation::Backwards { reservation: made.id }
    );
    for gone in ["p", "r"] {
        assert_eq!(
            objection(&stage, vec![Change::Forgotten(cluster(gone))]),
            Violation::NotGivenBack { cluster: cluster(gone) }
        );
    }
}

#[test]
fn the_witness_lets_nothing_end_twice_or_before_its_time() {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi");
    let terms = Terms { duration: Some("1h".parse().unwrap()), ..Terms::default() };
    let ask = Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap();
    let made = stage.reserve(ask);
    let end = made.expires_at.unwrap();
    let expired = |at| {
        let phase = Phase::Released(Released { at, why: Release::Expired });
        vec![put(&Reservation { phase, ..made.clone() }), ledger(Resources::NONE)]
    };
    let early = Violation::EndedEarly { reservation: made.id };
    assert_eq!(objection(&stage, expired(end)), early, "it says a time that has not come");
    stage.pass("2h");
    let too_soon = end.plus("-1ns".parse().unwrap());
    assert_eq!(objection(&stage, expired(too_soon)), early, "it says a time before its end");
    let mut witness = Witness::of(&stage.fleet);
    witness.observe(&decision(expired(end)), stage.now).unwrap();
    let failed = Phase::Failed(Failed { at: stage.now, why: Failure::ProviderGone });
    let again = vec![put(&Reservation { phase: failed, ..made.clone() }), ledger(Resources::NONE)];
    let twice = witness.observe(&decision(again), stage.now);
    assert_eq!(twice, Err(Violation::Backwards { reservation: made.id }));
}

#[test]
fn the_witness_knows_how_long_an_older_clock_is_refused() {
    let (mut stage, _) = one_promise();
    let told = stage.now;
    let set_back = |at| Change::Refreshed {
        cluster: cluster("p"),
        at,
        timestamp: told.plus("-1s".parse().unwrap()),
        order: None,
        durable: false,
    };
    for (passed, allowed) in [("30s", false), ("30s", false), ("1ns", true)] {
        stage.pass(passed);
        let mut witness = Witness::of(&stage.fleet);
        let seen = witness.observe(&decision(vec![set_back(stage.now)]), stage.now);
        assert_eq!(seen.is_ok(), allowed, "after {passed} more");
    }
}

#[test]
fn a_dropped_reservation_frees_its_key_for_the_witness_too() {
    let (stage, made) = one_promise();
    let mut witness = Witness::of(&stage.fleet);
    let ended = released(&made);
    let end = vec![put(&ended), ledger(Resources::NONE), Change::Dropped(made.id)];
    witness.observe(&decision(end), stage.now).unwrap();
    let again = Reservation { id: id(60), reserved_at: stage.now, ..made };
    let grant = vec![put(&again), ledger(resources("1", "1Gi"))];
    witness.observe(&decision(grant), stage.now).unwrap();
}

#[test]
fn changes_that_do_not_fit_are_refused_by_the_fleet() {
    let (stage, made) = one_promise();
    let apply = |change: Change| stage.fleet.clone().apply(change).unwrap_err();
    let nowhere = Reservation { id: id(70), key: None, provider: cluster("x"), ..made.clone() };
    assert_eq!(apply(put(&nowhere)), Divergence::UnknownCluster(cluster("x")));
    let sum = resources("1", "1Gi");
    let wrong = resources("2", "1Gi");
    assert_eq!(
        apply(ledger(wrong)),
        Divergence::Ledger { cluster: cluster("p"), ledger: wrong, sum }
    );
    assert_eq!(apply(Change::Dropped(made.id)), Divergence::NotEnded(made.id));
    assert_eq!(apply(Change::Dropped(id(71))), Divergence::NotEnded(id(71)));
    assert_eq!(apply(Change::Forgotten(cluster("p"))), Divergence::StillPromised(cluster("p")));
    let moved = Reservation { provider: cluster("q"), ..made.clone() };
    assert_eq!(apply(put(&moved)), Divergence::Backwards(made.id));
}

#[test]
fn phases_do_not_go_back_in_the_fleet() {
    let (mut stage, made) = one_promise();
    stage.act(rear_engine::Command::Activate { id: made.id, by: of("r") }).unwrap();
    let back = stage.fleet.clone().apply(put(&made)).unwrap_err();
    assert_eq!(back, Divergence::Backwards(made.id));
    stage.act(rear_engine::Command::Release { id: made.id, by: of("r") }).unwrap();
    let ended = stage.fleet.reservation(made.id).unwrap().clone();
    assert!(matches!(ended.phase, Phase::Released(_)));
    let mut again = stage.fleet.clone();
    assert_eq!(again.apply(put(&ended)), Ok(()), "what is true already may be said again");
    assert_eq!(again.apply(put(&made)), Err(Divergence::Backwards(made.id)));
}

#[test]
fn a_refresh_of_a_cluster_that_never_advertised_does_not_fit() {
    let mut stage = Stage::new();
    let silent = ClusterRecord::new(cluster("s"));
    stage.fleet.apply(Change::Cluster(Box::new(silent))).unwrap();
    let refreshed = Change::Refreshed {
        cluster: cluster("s"),
        at: stage.now,
        timestamp: stage.now,
        order: None,
        durable: true,
    };
    assert_eq!(stage.fleet.apply(refreshed), Err(Divergence::UnknownCluster(cluster("s"))));
}
