//! After a restore, nothing is granted on a provider before it has said what it holds.

use std::sync::Arc;

use rear_engine::advertisement::Holding;
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{
    Change, Command, Fleet, Happening, Phase, Policy, Refusal, Resources, Terms, Timestamp,
};

use super::stage::{Stage, happened, operator, reasons, start};

/// A broker whose backup knows the clusters and one promise on `p`, but not the newest.
fn restored() -> Stage {
    let mut before = Stage::new();
    before.idle("p", "4", "4Gi").idle("q", "2", "2Gi");
    before.reserve(ask("r", resources("1", "1Gi")));
    let mut stage = Stage::on(restore(&before.fleet));
    stage.pass("1m");
    stage
}

fn restore(backup: &Fleet) -> Fleet {
    let mut fleet = Fleet::restored(Policy::default(), 2, 1);
    for kept in backup.clusters() {
        fleet.apply(Change::Cluster(Box::new(kept.record().clone()))).unwrap();
    }
    for kept in backup.reservations() {
        fleet.apply(Change::Reservation(Arc::new(kept.clone()))).unwrap();
    }
    fleet.settle();
    fleet
}

fn held(number: u128, amount: Resources, expires_at: Option<Timestamp>) -> Holding {
    let ask = rear_engine::Ask::new(cluster("r"), amount, Terms::default()).unwrap();
    Holding { reservation: id(number), ask, expires_at }
}

fn told(stage: &Stage) -> rear_engine::Advertisement {
    advertisement("4", "4Gi", stage.now)
}

fn two() -> Resources {
    resources("2", "2Gi")
}

#[test]
fn nothing_is_granted_before_a_provider_has_spoken() {
    let mut stage = restored();
    let refused = stage.refused(ask("r", resources("1", "1Gi")));
    assert_eq!(
        reasons(&refused),
        [
            "p has not yet said what it holds after a restore",
            "q has not yet said what it holds after a restore",
        ]
    );
    // An agent that does not say what it holds is still waited for.
    let told = told(&stage);
    stage.advertise("p", told).unwrap();
    assert_eq!(stage.refused(ask("r", resources("1", "1Gi"))).candidates.len(), 2);
}

#[test]
fn an_unknown_promise_is_adopted_and_counts_again() {
    let mut stage = restored();
    let told = told(&stage);
    let decision = stage.advertise_holding("p", told, Some(vec![held(900, two(), None)])).unwrap();
    assert_eq!(
        happened(&decision),
        [&Happening::Advertised, &Happening::Recovered, &Happening::Adopted]
    );
    assert_eq!(stage.reserved("p"), resources("3", "3Gi"));
    let adopted = stage.fleet.reservation(id(900)).unwrap();
    assert_eq!((&adopted.provider, adopted.requester()), (&cluster("p"), &cluster("r")));
    assert!(matches!(adopted.phase, Phase::Reserved(_)));
    stage.reserve(ask("r", resources("1", "1Gi")));
    assert_eq!(stage.available("p"), Resources::NONE);
}

#[test]
fn what_a_provider_holds_is_adopted_in_parts_and_it_is_waited_for_until_the_last() {
    let mut stage = restored();
    let later = stage.now.plus("1h".parse().unwrap());
    let one = || resources("500m", "512Mi");
    let part = |stage: &Stage| Command::Adopt {
        cluster: cluster("p"),
        advertisement: Box::new(told(stage)),
        holding: vec![
            held(900, one(), None),
            held(901, one(), Some(stage.now)),
            held(902, one(), Some(later)),
        ],
        limit: 1,
    };
    for _ in 0..2 {
        let first = stage.act(part(&stage)).unwrap();
        assert_eq!(happened(&first), [&Happening::Advertised, &Happening::Adopted]);
        assert!(stage.fleet.is_recovering(stage.fleet.cluster(&cluster("p")).unwrap().record()));
    }
    assert!(stage.act(part(&stage)).unwrap().changes.is_empty(), "what is over is not adopted");
    assert_eq!(stage.reserved("p"), resources("2", "2Gi"));
    let told = told(&stage);
    let last = stage.advertise_holding("p", told, Some(vec![held(900, one(), None)])).unwrap();
    assert_eq!(happened(&last), [&Happening::Advertised, &Happening::Recovered]);
    let after = stage.act(part(&stage)).unwrap();
    assert!(after.changes.iter().all(|change| !change.is_durable()), "no longer waited for");
}

#[test]
fn an_empty_list_is_an_answer_too() {
    let mut stage = restored();
    let told = told(&stage);
    stage.advertise_holding("p", told, Some(Vec::new())).unwrap();
    let granted = stage.reserve(ask("r", two()));
    assert_eq!(granted.provider, cluster("p"));
}

#[test]
fn what_the_ledger_knows_better_is_not_adopted() {
    let mut stage = restored();
    let known = stage.fleet.reservations().next().unwrap().id;
    let over = stage.now;
    let itself = {
        let ask = rear_engine::Ask::new(cluster("p"), two(), Terms::default()).unwrap();
        Holding { reservation: id(902), ask, expires_at: None }
    };
    let told = told(&stage);
    let holding = vec![
        Holding { reservation: known, ..held(1, two(), None) },
        held(901, two(), Some(over)),
        itself,
        held(903, resources("1", "1Gi"), Some(stage.now.plus("1ns".parse().unwrap()))),
        held(903, two(), None),
    ];
    stage.advertise_holding("p", told, Some(holding)).unwrap();
    assert_eq!(stage.reserved("p"), resources("2", "2Gi"));
    assert!(stage.fleet.reservation(id(901)).is_none());
    assert!(stage.fleet.reservation(id(902)).is_none());
    assert_eq!(stage.fleet.reservation(id(903)).unwrap().held(), resources("1", "1Gi"));
}

#[test]
fn adoption_may_overcommit_because_the_promise_was_made_before() {
    let mut stage = restored();
    let told = told(&stage);
    let holding = vec![held(900, resources("4", "4Gi"), None)];
    let decision = stage.advertise_holding("p", told, Some(holding)).unwrap();
    assert!(happened(&decision).contains(&&Happening::BecameOvercommitted));
    assert!(stage.fleet.cluster(&cluster("p")).unwrap().is_overcommitted());
}

#[test]
fn an_adoption_that_cannot_be_counted_is_refused_whole() {
    let mut stage = restored();
    let most = Resources::from_amounts([i64::MAX.cast_unsigned(), 1, 0, 0]).unwrap();
    let told = told(&stage);
    let refused =
        stage.advertise_holding("p", told, Some(vec![held(900, most, None)])).unwrap_err();
    assert!(matches!(refused, Refusal::Ledger { .. }), "{refused}");
    assert_eq!(refused.to_string(), "the ledger of p cannot hold this");
    assert!(stage.fleet.reservation(id(900)).is_none());
}

#[test]
fn an_administrator_ends_the_wait_for_one_or_for_all() {
    let mut stage = restored();
    let end =
        |name: Option<&str>| Command::EndRecovery { cluster: name.map(cluster), by: operator() };
    assert_eq!(stage.act(end(Some("x"))), Err(Refusal::UnknownCluster(cluster("x"))));
    let decision = stage.act(end(Some("q"))).unwrap();
    assert_eq!(happened(&decision), [&Happening::Recovered]);
    assert!(stage.act(end(Some("q"))).unwrap().changes.is_empty());
    assert_eq!(stage.reserve(ask("r", resources("1", "1Gi"))).provider, cluster("q"));
    stage.act(end(None)).unwrap();
    assert_eq!(stage.reserve(ask("r", two())).provider, cluster("p"));
    // Also for those who come later and never say.
    stage.idle("late", "64", "64Gi");
    assert_eq!(stage.reserve(ask("r", two())).provider, cluster("late"));
}

#[test]
fn a_new_cluster_is_recovering_until_it_speaks_and_only_in_a_restored_broker() {
    let mut stage = restored();
    stage.idle("new", "64", "64Gi");
    assert_eq!(stage.refused(ask("r", two())).candidates.len(), 3);
    let told = advertisement("64", "64Gi", stage.now);
    stage.advertise_holding("new", told, Some(Vec::new())).unwrap();
    assert_eq!(stage.reserve(ask("r", two())).provider, cluster("new"));
    assert_eq!(stage.fleet.incarnation(), 2);
    assert_eq!(Stage::new().fleet.incarnation(), 1);
    assert_eq!(stage.now, start().plus("1m".parse().unwrap()));
}

/// A broker whose backup knows a promise on `p` that ended after the backup, unless it was renewed since.
fn restored_late() -> (Stage, rear_engine::ReservationId) {
    let mut before = Stage::new();
    before.idle("p", "4", "4Gi");
    let granted = before.reserve(ask_for_ten_minutes());
    let mut stage = Stage::on(restore(&before.fleet));
    stage.pass("20m");
    (stage, granted.id)
}

fn ask_for_ten_minutes() -> rear_engine::Ask {
    let terms = Terms { duration: Some("10m".parse().unwrap()), ..Terms::default() };
    rear_engine::Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap()
}

fn expire(stage: &mut Stage) {
    stage.act(Command::Expire { limit: 100 }).unwrap();
}

#[test]
fn what_may_have_been_renewed_does_not_end_before_its_provider_has_spoken() {
    let (mut stage, known) = restored_late();
    expire(&mut stage);
    assert!(stage.fleet.reservation(known).unwrap().phase.is_live());
    assert_eq!(stage.reserved("p"), resources("1", "1Gi"));
    // Nor is its requester told that it has, who would ask anew.
    let by = rear_engine::Actor::Cluster(cluster("r"));
    stage.act(Command::Activate { id: known, by }).unwrap();
}

#[test]
fn a_later_end_is_taken_from_the_provider() {
    let (mut stage, known) = restored_late();
    let until = stage.now.plus("1h".parse().unwrap());
    let holding =
        vec![Holding { reservation: known, ..held(1, resources("1", "1Gi"), Some(until)) }];
    let told = told(&stage);
    let decision = stage.advertise_holding("p", told, Some(holding)).unwrap();
    assert!(happened(&decision).contains(&&Happening::Adopted));
    expire(&mut stage);
    let kept = stage.fleet.reservation(known).unwrap();
    assert!(kept.phase.is_live());
    assert_eq!(kept.expires_at, Some(until));
    stage.refused(ask("q", resources("4", "4Gi")));
    stage.pass("1h");
    expire(&mut stage);
    assert!(!stage.fleet.reservation(known).unwrap().phase.is_live());
}

/// A promise for so long, restored from a backup: a stage with it, and its id.
fn restored_with_end(duration: Option<&str>) -> (Stage, rear_engine::ReservationId) {
    let mut before = Stage::new();
    before.idle("p", "4", "4Gi");
    let duration = duration.map(|span| span.parse().unwrap());
    let terms = Terms { duration, ..Terms::default() };
    let ask = rear_engine::Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap();
    let kept = before.reserve(ask);
    (Stage::on(restore(&before.fleet)), kept.id)
}

fn renew_for(stage: &mut Stage, id: rear_engine::ReservationId, span: &str) -> Result<(), Refusal> {
    let by = rear_engine::Actor::Cluster(cluster("r"));
    let until = stage.now.plus(span.parse().unwrap());
    stage.act(Command::Renew { id, until, by }).map(|_| ())
}

#[test]
fn another_end_is_agreed_on_only_when_the_provider_has_spoken() {
    // What the backup knows, whatever the provider knows better, and what its requester wants now.
    let (hour, ten) = (Some("1h"), Some("10h"));
    let cases = [
        (ten, ten, "1h", "earlier than what is known"),
        (hour, ten, "5h", "later than what is known, and earlier than what the provider knows"),
        (None, ten, "5h", "the only end that is known here"),
        (hour, hour, "5h", "later than what anyone knows"),
    ];
    for (in_backup, at_provider, wanted, what) in cases {
        let (mut stage, known) = restored_with_end(in_backup);
        let refused = Err(Refusal::ProviderRecovering(cluster("p")));
        assert_eq!(renew_for(&mut stage, known, wanted), refused, "{what}");
        let end = at_provider.map(|span| stage.now.plus(span.parse().unwrap()));
        let holding = Holding { reservation: known, ..held(1, resources("1", "1Gi"), end) };
        let told = told(&stage);
        stage.advertise_holding("p", told, Some(vec![holding])).unwrap();
        renew_for(&mut stage, known, wanted).unwrap();
        let kept = stage.fleet.reservation(known).unwrap().expires_at;
        assert_eq!(kept, Some(stage.now.plus(wanted.parse().unwrap())), "{what}");
    }
}

#[test]
fn the_end_that_is_known_is_agreed_on_again_before_the_provider_has_spoken() {
    let (mut stage, known) = restored_with_end(Some("10h"));
    renew_for(&mut stage, known, "10h").unwrap();
}

#[test]
fn what_the_provider_no_longer_keeps_ends_when_it_has_spoken() {
    for claims_an_earlier_end in [false, true] {
        let (mut stage, known) = restored_late();
        let earlier = stage.now.plus("-1m".parse().unwrap());
        let claimed = Holding { reservation: known, ..held(1, two(), Some(earlier)) };
        let holding = claims_an_earlier_end.then_some(claimed).into_iter().collect();
        let told = told(&stage);
        stage.advertise_holding("p", told, Some(holding)).unwrap();
        assert!(stage.fleet.next_due().unwrap() <= stage.now);
        expire(&mut stage);
        assert!(!stage.fleet.reservation(known).unwrap().phase.is_live());
        assert_eq!(stage.reserved("p"), Resources::NONE);
    }
}

#[test]
fn a_later_end_is_taken_from_no_other_cluster_and_for_no_other_requester() {
    let (mut stage, known) = restored_late();
    let until = stage.now.plus("1h".parse().unwrap());
    let told_by_q = told(&stage);
    let claimed = Holding { reservation: known, ..held(1, resources("1", "1Gi"), Some(until)) };
    stage.advertise_holding("q", told_by_q, Some(vec![claimed])).unwrap();
    let for_another = rear_engine::Ask::new(cluster("q"), two(), Terms::default()).unwrap();
    let claimed = Holding { reservation: known, ask: for_another, expires_at: Some(until) };
    let told_by_p = told(&stage);
    stage.advertise_holding("p", told_by_p, Some(vec![claimed])).unwrap();
    expire(&mut stage);
    assert!(!stage.fleet.reservation(known).unwrap().phase.is_live());
}

#[test]
fn when_an_administrator_ends_the_wait_what_is_due_ends() {
    for name in [Some(cluster("p")), None] {
        let (mut stage, known) = restored_late();
        stage.act(Command::EndRecovery { cluster: name, by: operator() }).unwrap();
        assert!(stage.fleet.next_due().unwrap() <= stage.now);
        expire(&mut stage);
        assert!(!stage.fleet.reservation(known).unwrap().phase.is_live());
    }
}
