//! The life of a reservation: who may do what, when, and what is given back.

use rear_engine::reservation::{Ending, Failure, Pending, Release};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{
    Actor, Ask, Command, Duration, Happening, Policy, Refusal, Reservation, ReservationId,
    Resources, Subject, Terms, Timestamp,
};

use super::stage::{Stage, happened, of, operator};

fn for_a(duration: &str) -> Ask {
    let terms = Terms { duration: Some(duration.parse().unwrap()), ..Terms::default() };
    Ask::new(cluster("r"), resources("1", "1Gi"), terms).unwrap()
}

fn endless() -> Ask {
    ask("r", resources("1", "1Gi"))
}

fn ready() -> Stage {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi");
    stage
}

fn phase(stage: &Stage, id: ReservationId) -> &'static str {
    stage.fleet.reservation(id).unwrap().phase.name()
}

fn ended(stage: &Stage, id: ReservationId) -> Ending {
    use rear_engine::Phase;
    match &stage.fleet.reservation(id).unwrap().phase {
        Phase::Released(released) => Ending::Released(released.why),
        Phase::Failed(failed) => Ending::Failed(failed.why.clone()),
        other => panic!("still {}", other.name()),
    }
}

fn activate(id: ReservationId, by: Actor) -> Command {
    Command::Activate { id, by }
}

fn release(id: ReservationId, by: Actor) -> Command {
    Command::Release { id, by }
}

fn reject(id: ReservationId, by: Actor) -> Command {
    Command::Reject { id, reason: "no room after all".parse().unwrap(), by }
}

fn renew(id: ReservationId, until: Timestamp) -> Command {
    Command::Renew { id, until, by: of("r") }
}

fn until(stage: &Stage, span: &str) -> Timestamp {
    stage.now.plus(span.parse::<Duration>().unwrap())
}

#[test]
fn reserved_then_active_then_released() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    assert_eq!(phase(&stage, id), "Reserved");
    let decision = stage.act(activate(id, of("r"))).unwrap();
    assert_eq!(happened(&decision), [&Happening::Activated]);
    assert_eq!(phase(&stage, id), "Active");
    assert!(stage.act(activate(id, of("r"))).unwrap().changes.is_empty(), "repeating is fine");
    let decision = stage.act(release(id, of("r"))).unwrap();
    assert_eq!(happened(&decision), [&Happening::Ended(Ending::Released(Release::ByRequester))]);
    assert_eq!(stage.available("p"), resources("4", "4Gi"));
    assert_eq!(stage.fleet.live_of_provider(&cluster("p")).count(), 0);
    assert_eq!(stage.fleet.live_of_requester(&cluster("r")).count(), 0);
    let kept = stage.fleet.reservation(id).unwrap();
    assert_eq!(kept.phase.ended_at(), Some(stage.now));
}

#[test]
fn releasing_again_gives_nothing_back_again() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    stage.reserve(for_a("1h"));
    for _ in 0..3 {
        let decision = stage.act(release(id, of("r"))).unwrap();
        assert_eq!(decision.subject, Subject::Reservation(id));
        assert_eq!(stage.reserved("p"), resources("1", "1Gi"));
    }
    stage.act(release(id, operator())).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::ByRequester));
}

#[test]
fn an_administrator_may_release_and_act_for_others_by_name() {
    let mut stage = ready();
    let made = stage.act(Command::Reserve {
        id: id(77),
        ask: Box::new(for_a("1h")),
        key: None,
        by: operator(),
    });
    assert_eq!(made.unwrap().events[0].by, operator());
    assert_eq!(stage.fleet.reservation(id(77)).unwrap().requester(), &cluster("r"));
    stage.act(release(id(77), operator())).unwrap();
    assert_eq!(ended(&stage, id(77)), Ending::Released(Release::ByAdministrator));
}

#[test]
fn what_is_not_yours_does_not_exist() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    let later = until(&stage, "2h");
    for command in [
        activate(id, of("x")),
        release(id, of("x")),
        reject(id, of("x")),
        Command::Renew { id, until: later, by: of("x") },
    ] {
        assert_eq!(stage.act(command), Err(Refusal::UnknownReservation(id)));
    }
    let nobody = rear_engine::testing::id(999);
    assert_eq!(stage.act(release(nobody, of("r"))), Err(Refusal::UnknownReservation(nobody)));
}

#[test]
fn each_side_has_its_own_rights() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    let later = until(&stage, "2h");
    for (command, allowed) in [
        (activate(id, of("p")), "the requester"),
        (activate(id, operator()), "the requester"),
        (Command::Renew { id, until: later, by: of("p") }, "the requester"),
        (Command::Renew { id, until: later, by: operator() }, "the requester"),
        (reject(id, of("r")), "the provider"),
        (reject(id, operator()), "the provider"),
        (release(id, of("p")), "the requester or an administrator"),
        (Command::Forget { cluster: cluster("p"), by: of("p") }, "an administrator"),
        (Command::EndRecovery { cluster: None, by: of("p") }, "an administrator"),
        (
            Command::Reserve {
                id: rear_engine::testing::id(5),
                ask: Box::new(endless()),
                key: None,
                by: of("x"),
            },
            "the requester",
        ),
    ] {
        assert_eq!(stage.act(command), Err(Refusal::NotAllowed { allowed }));
    }
    assert_eq!(phase(&stage, id), "Reserved");
}

#[test]
fn the_provider_may_reject_and_the_requester_is_told_why() {
    for active in [false, true] {
        let mut stage = ready();
        let Reservation { id, .. } = stage.reserve(for_a("1h"));
        if active {
            stage.act(activate(id, of("r"))).unwrap();
        }
        let decision = stage.act(reject(id, of("p"))).unwrap();
        let why = Failure::Rejected("no room after all".parse().unwrap());
        assert_eq!(happened(&decision), [&Happening::Ended(Ending::Failed(why.clone()))]);
        assert_eq!(phase(&stage, id), "Failed");
        assert_eq!(why.to_string(), "rejected by the provider: no room after all");
        assert_eq!(stage.available("p"), resources("4", "4Gi"));
        assert!(stage.act(reject(id, of("p"))).unwrap().changes.is_empty(), "repeating is fine");
    }
}

#[test]
fn what_has_ended_stays_as_it_ended() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    stage.act(release(id, of("r"))).unwrap();
    let later = until(&stage, "2h");
    for command in [activate(id, of("r")), reject(id, of("p")), renew(id, later)] {
        assert_eq!(stage.act(command), Err(Refusal::AlreadyEnded(id)));
    }
    assert_eq!(phase(&stage, id), "Released");
}

#[test]
fn it_expires_at_its_end_and_not_before() {
    let mut stage = ready();
    let Reservation { id, expires_at, .. } = stage.reserve(for_a("1h"));
    assert_eq!(expires_at, Some(until(&stage, "1h")));
    stage.pass("59m59.999999999s");
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    stage.act(activate(id, of("r"))).unwrap();
    stage.pass("1ns");
    let decision = stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(happened(&decision), [&Happening::Ended(Ending::Released(Release::Expired))]);
    assert_eq!(decision.events[0].by, Actor::Broker);
    assert_eq!(stage.available("p"), resources("4", "4Gi"));
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty(), "once");
}

#[test]
fn what_is_due_cannot_be_saved_before_it_is_ended() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    stage.pass("1h");
    let later = until(&stage, "2h");
    for command in [activate(id, of("r")), renew(id, later), reject(id, of("p"))] {
        assert_eq!(stage.act(command), Err(Refusal::AlreadyEnded(id)));
    }
    stage.act(release(id, of("r"))).unwrap();
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    assert_eq!(ended(&stage, id), Ending::Released(Release::ByRequester));
}

#[test]
fn many_are_expired_in_chunks_in_the_order_of_their_ends() {
    let mut stage = ready();
    let late = stage.reserve(for_a("3s")).id;
    let early = stage.reserve(for_a("1s")).id;
    let middle = stage.reserve(for_a("2s")).id;
    assert_eq!(stage.fleet.next_due(), Some(until(&stage, "1s")));
    stage.pass("1h");
    stage.idle("p", "4", "4Gi");
    stage.act(Command::Expire { limit: 2 }).unwrap();
    assert!(!stage.fleet.reservation(early).unwrap().phase.is_live());
    assert!(!stage.fleet.reservation(middle).unwrap().phase.is_live());
    assert!(stage.fleet.reservation(late).unwrap().phase.is_live());
    stage.act(Command::Expire { limit: 2 }).unwrap();
    assert_eq!(stage.reserved("p"), Resources::NONE);
}

#[test]
fn a_renewal_names_a_new_end_and_cannot_extend_twice() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    let new_end = until(&stage, "90m");
    let decision = stage.act(renew(id, new_end)).unwrap();
    assert_eq!(happened(&decision), [&Happening::Renewed]);
    assert!(stage.act(renew(id, new_end)).unwrap().changes.is_empty(), "a retry");
    stage.pass("80m");
    stage.idle("p", "4", "4Gi");
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    stage.pass("10m");
    assert_eq!(stage.act(Command::Expire { limit: 10 }).unwrap().events.len(), 1);
}

#[test]
fn a_renewal_must_lie_ahead_and_within_the_limit() {
    let mut stage =
        Stage::with(Policy { max_duration: Some("2h".parse().unwrap()), ..Policy::default() });
    stage.idle("p", "4", "4Gi");
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    assert_eq!(stage.act(renew(id, stage.now)), Err(Refusal::EndHasPassed));
    let beyond = until(&stage, "2h1ns");
    assert_eq!(stage.act(renew(id, beyond)), Err(Refusal::TooLong("2h".parse().unwrap())));
    let longest = until(&stage, "2h");
    stage.act(renew(id, longest)).unwrap();
}

#[test]
fn the_end_that_it_has_is_agreed_on_also_under_a_shorter_limit() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    let end = until(&stage, "1h");
    let shorter = Policy { max_duration: Some("30m".parse().unwrap()), ..Policy::default() };
    stage.keep_time_by(&shorter);
    assert!(stage.act(renew(id, end)).unwrap().changes.is_empty(), "a retry");
}

#[test]
fn nothing_is_prolonged_where_the_promise_may_be_broken() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(for_a("1h"));
    stage.advertise("p", advertisement("500m", "4Gi", stage.now)).unwrap();
    let later = until(&stage, "2h");
    let refused = stage.act(renew(id, later)).unwrap_err();
    assert_eq!(refused, Refusal::ProviderOvercommitted(cluster("p")));
    assert!(refused.may_pass_later());
    stage.idle("p", "4", "4Gi").pass("10m");
    let refused = stage.act(renew(id, later)).unwrap_err();
    assert_eq!(refused, Refusal::ProviderStale(cluster("p")));
    // Staleness alone ends nothing.
    stage.act(Command::MarkStale { limit: 1 }).unwrap();
    assert_eq!(phase(&stage, id), "Reserved");
    assert_eq!(stage.reserved("p"), resources("1", "1Gi"));
}

#[test]
fn without_an_end_it_lives_while_its_requester_is_heard_of() {
    let mut stage = ready();
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    let Reservation { id, expires_at, .. } = stage.reserve(endless());
    assert_eq!(expires_at, None);
    stage.pass("23h");
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    stage.pass("23h59m59.999999999s");
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    stage.pass("1ns");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
}

#[test]
fn a_requester_that_was_never_heard_is_not_missed() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(endless());
    stage.pass("2000h");
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    assert_eq!(phase(&stage, id), "Reserved");
    // Once it is heard, it can be missed.
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    let due = until(&stage, "24h");
    stage.act(Command::MarkStale { limit: 10 }).unwrap();
    assert_eq!(stage.fleet.next_due(), Some(due));
    stage.pass("24h");
    assert_eq!(stage.act(Command::Expire { limit: 10 }).unwrap().events.len(), 1);
}

#[test]
fn a_promise_without_an_end_is_a_sign_of_life_itself() {
    let mut stage = ready();
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    stage.pass("100h");
    stage.idle("p", "4", "4Gi");
    let Reservation { id, .. } = stage.reserve(endless());
    // Not ended at once because its requester was silent before it asked.
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    stage.pass("23h59m59s");
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    stage.pass("1s");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
}

#[test]
fn whoever_was_silent_while_the_broker_was_away_has_an_hour_to_be_heard_of() {
    let mut stage = ready();
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    let Reservation { id, .. } = stage.reserve(endless());
    stage.pass("100h");
    stage.fleet.listen_from(stage.now);
    stage.act(Command::MarkStale { limit: 10 }).unwrap();
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    assert_eq!(stage.fleet.next_due(), Some(until(&stage, "1h")));
    stage.pass("1h");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
}

#[test]
fn a_broker_that_is_restarted_every_few_hours_notices_who_is_gone() {
    let mut stage = ready();
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    let Reservation { id, .. } = stage.reserve(endless());
    for _ in 0..3 {
        stage.pass("6h");
        assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
        stage.fleet.listen_from(stage.now);
    }
    stage.pass("6h");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
}

/// A stage on which `r` was heard and has a reservation without an end, under this limit of silence.
fn silent_after(limit: &str) -> (Stage, ReservationId) {
    let requester_gone_after = limit.parse().unwrap();
    let mut stage = Stage::with(Policy { requester_gone_after, ..Policy::default() });
    stage.idle("p", "4", "4Gi").act(Command::Hear { cluster: cluster("r") }).unwrap();
    let Reservation { id, .. } = stage.reserve(endless());
    (stage, id)
}

#[test]
fn under_a_short_limit_there_is_time_to_come_back_after_a_start() {
    for (limit, time) in [("1s", "1s"), ("1m", "1m"), ("10m", "2m"), ("40m", "2m"), ("4h", "10m")] {
        let (mut stage, id) = silent_after(limit);
        stage.pass(limit);
        stage.fleet.listen_from(stage.now);
        assert_eq!(stage.fleet.next_end(), Some(until(&stage, time)), "{limit}");
        assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty(), "{limit}");
        stage.pass(time);
        stage.act(Command::Expire { limit: 10 }).unwrap();
        assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
    }
}

#[test]
fn under_a_shorter_limit_everyone_has_time_to_be_heard_of() {
    let (mut stage, id) = silent_after("24h");
    stage.pass("1h");
    let limit = |limit: &str| {
        let requester_gone_after = limit.parse().unwrap();
        Policy { requester_gone_after, ..Policy::default() }
    };
    stage.keep_time_by(&limit("30m"));
    assert!(stage.act(Command::Expire { limit: 10 }).unwrap().changes.is_empty());
    // The same again, or a longer one, gives no more time.
    let due = until(&stage, "2m");
    stage.pass("1m");
    for same_or_longer in ["30m", "31m", "31m"] {
        stage.keep_time_by(&limit(same_or_longer));
        assert_eq!(stage.fleet.next_end(), Some(due), "{same_or_longer}");
    }
    stage.pass("1m");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
}

#[test]
fn a_requester_without_a_record_can_be_forgotten() {
    let mut stage = ready();
    let Reservation { id, .. } = stage.reserve(endless());
    stage.act(Command::Forget { cluster: cluster("r"), by: operator() }).unwrap();
    assert_eq!(ended(&stage, id), Ending::Released(Release::RequesterGone));
    let again = Command::Forget { cluster: cluster("r"), by: operator() };
    assert_eq!(stage.act(again), Err(Refusal::UnknownCluster(cluster("r"))));
}

#[test]
fn a_pending_request_is_granted_or_fails() {
    let pending = Pending { id: id(3), ask: for_a("1h"), key: None };
    let stage = ready();
    let granted = pending.clone().grant(cluster("p"), stage.now, None);
    assert_eq!((granted.id, granted.phase.name()), (id(3), "Reserved"));
    assert_eq!(granted.phase.ended_at(), None);
    let failed = pending.fail(stage.now);
    assert_eq!((failed.at, &failed.why), (stage.now, &Failure::NoRoom));
}

#[test]
fn a_reservation_with_an_end_does_not_care_whether_its_requester_is_heard() {
    let mut stage = ready();
    stage.act(Command::Hear { cluster: cluster("r") }).unwrap();
    let Reservation { id, .. } = stage.reserve(for_a("100h"));
    stage.pass("50h");
    stage.act(Command::Expire { limit: 10 }).unwrap();
    assert_eq!(phase(&stage, id), "Reserved");
}

#[test]
fn signs_of_life_are_made_durable_once_an_hour() {
    let mut stage = Stage::new();
    let hear = || Command::Hear { cluster: cluster("r") };
    assert!(stage.act(hear()).unwrap().is_durable());
    assert!(stage.act(hear()).unwrap().changes.is_empty(), "the same moment says nothing new");
    for (span, durable) in [("59m", false), ("59s", false), ("1s", true), ("1h", true)] {
        stage.pass(span);
        assert_eq!(stage.act(hear()).unwrap().is_durable(), durable, "after {span} more");
    }
}

#[test]
fn operators_set_a_default_and_a_longest_duration() {
    let policy = |default: Option<&str>, longest: Option<&str>| Policy {
        default_duration: default.map(|text| text.parse().unwrap()),
        max_duration: longest.map(|text| text.parse().unwrap()),
        ..Policy::default()
    };
    for (default, longest, asked, granted) in [
        (None, None, None, Ok(None)),
        (Some("1h"), None, None, Ok(Some("1h"))),
        (Some("1h"), Some("2h"), Some("2h"), Ok(Some("2h"))),
        (None, Some("2h"), None, Ok(Some("2h"))),
        (Some("3h"), Some("2h"), Some("1m"), Ok(Some("1m"))),
        (None, Some("2h"), Some("2h1ns"), Err("2h")),
        // What an operator got wrong does not refuse those who ask for nothing special.
        (Some("3h"), Some("2h"), None, Ok(Some("2h"))),
        (None, Some("9000h"), None, Ok(Some("8784h"))),
        (Some("-1s"), None, None, Ok(Some("1s"))),
    ] {
        let mut stage = Stage::with(policy(default, longest));
        stage.idle("p", "4", "4Gi");
        let wanted = asked.map_or_else(endless, for_a);
        let outcome = stage.try_reserve(wanted).map(|made| made.expires_at);
        let expected = match granted {
            Ok(span) => Ok(span.map(|span| until(&stage, span))),
            Err(longest) => Err(Refusal::TooLong(longest.parse().unwrap())),
        };
        assert_eq!(outcome, expected, "{default:?} {longest:?} {asked:?}");
    }
}

#[test]
fn durations_and_amounts_of_a_request_have_limits() {
    use rear_engine::Dimension::{Cpu, Memory};
    use rear_engine::ask::AskError;
    let with = |amount: Resources, duration: Option<&str>| {
        let duration = duration.map(|text| text.parse().unwrap());
        Ask::new(cluster("r"), amount, Terms { duration, ..Terms::default() })
    };
    let one = resources("1", "1Gi");
    for good in ["1s", "8784h"] {
        assert!(with(one, Some(good)).is_ok(), "{good}");
    }
    for bad in ["999999999ns", "8784h0m0.000000001s", "0", "-1h"] {
        assert_eq!(with(one, Some(bad)), Err(AskError::Duration), "{bad}");
    }
    assert_eq!(with(resources("0", "1Gi"), None), Err(AskError::NotPositive(Cpu)));
    let refused = with(resources("1", "0"), None).unwrap_err();
    assert_eq!(refused, AskError::NotPositive(Memory));
    assert_eq!(refused.to_string(), "requested memory must be greater than 0");
}

#[test]
fn the_same_key_gives_the_same_reservation_in_its_present_state() {
    let mut stage = ready();
    let first = stage.try_reserve_as(for_a("1h"), Some("k")).unwrap();
    stage.act(activate(first.id, of("r"))).unwrap();
    let again = stage.try_reserve_as(for_a("1h"), Some("k")).unwrap();
    assert_eq!((again.id, again.phase.name()), (first.id, "Active"));
    assert_eq!(stage.reserved("p"), resources("1", "1Gi"));
    let other = stage.try_reserve_as(for_a("2h"), Some("k")).unwrap_err();
    assert_eq!(other, Refusal::KeyReused(first.id));
    stage.act(release(first.id, of("r"))).unwrap();
    let again = stage.try_reserve_as(for_a("1h"), Some("k")).unwrap();
    assert_eq!((again.id, again.phase.name()), (first.id, "Released"));
    // Another requester's key of the same name is another key.
    let theirs = Ask::new(cluster("s"), resources("1", "1Gi"), Terms::default()).unwrap();
    assert_ne!(stage.try_reserve_as(theirs, Some("k")).unwrap().id, first.id);
}

#[test]
fn a_refused_request_may_be_tried_again_under_its_key() {
    let mut stage = Stage::new();
    assert!(stage.try_reserve_as(for_a("1h"), Some("k")).is_err());
    stage.idle("p", "4", "4Gi");
    assert!(stage.try_reserve_as(for_a("2h"), Some("k")).is_ok());
}

#[test]
fn a_key_is_forgotten_with_its_reservation() {
    let mut stage = ready();
    let first = stage.try_reserve_as(for_a("1h"), Some("k")).unwrap().id;
    stage.act(release(first, of("r"))).unwrap();
    stage.fleet.apply(rear_engine::Change::Dropped(first)).unwrap();
    assert!(stage.fleet.reservation(first).is_none());
    assert!(stage.fleet.reservation_by_key(&cluster("r"), &"k".parse().unwrap()).is_none());
}

#[test]
fn what_has_ended_is_remembered_for_a_while_and_then_no_longer() {
    let kept = |text: &str| Policy { ended_kept_for: text.parse().unwrap(), ..Policy::default() };
    for (policy, remembered) in [(kept("48h"), "48h"), (kept("1s"), "24h")] {
        let mut stage = Stage::with(policy);
        stage.idle("p", "4", "4Gi");
        let first = stage.try_reserve_as(for_a("1h"), Some("k")).unwrap().id;
        stage.act(release(first, of("r"))).unwrap();
        stage.act(Command::Forget { cluster: cluster("p"), by: operator() }).unwrap();
        let retire = || Command::Retire { limit: 10 };
        assert_eq!(stage.fleet.next_due(), Some(until(&stage, remembered)));
        stage.pass(remembered);
        stage.now = stage.now.plus(Duration::from_nanos(-1));
        assert!(stage.act(retire()).unwrap().changes.is_empty());
        assert_eq!(phase(&stage, first), "Released");
        stage.pass("1ns");
        let decision = stage.act(retire()).unwrap();
        assert_eq!(decision.changes, [rear_engine::Change::Dropped(first)]);
        assert!(decision.is_durable() && decision.events.is_empty());
        assert!(stage.fleet.reservation(first).is_none());
        assert_eq!(stage.fleet.next_due(), None);
    }
}

#[test]
fn the_oldest_memories_fade_first_and_live_promises_never() {
    let mut stage = ready();
    let ended: Vec<_> = ["3h", "1h", "2h"].map(|length| stage.reserve(for_a(length)).id).into();
    let endless = stage.reserve(endless()).id;
    stage.pass("4h");
    for expected in [ended[1], ended[2], ended[0]] {
        let decision = stage.act(Command::Expire { limit: 1 }).unwrap();
        assert_eq!(decision.subject, Subject::Fleet);
        assert!(!stage.fleet.reservation(expected).unwrap().phase.is_live());
        stage.pass("1s");
    }
    stage.pass("3000h");
    let retired = |stage: &mut Stage, limit| stage.act(Command::Retire { limit }).unwrap().changes;
    let dropped = |id: &ReservationId| rear_engine::Change::Dropped(*id);
    assert_eq!(retired(&mut stage, 2), [dropped(&ended[1]), dropped(&ended[2])]);
    assert_eq!(retired(&mut stage, 2), [dropped(&ended[0])]);
    assert_eq!(retired(&mut stage, 2), []);
    assert_eq!(phase(&stage, endless), "Reserved");
}

#[test]
fn nobody_has_more_reservations_than_the_operator_allows() {
    let mut stage = Stage::with(Policy { max_reservations: 2, ..Policy::default() });
    stage.idle("p", "4", "4Gi");
    let ask = |requester| ask(requester, resources("1m", "1Mi"));
    let first = stage.reserve(ask("r"));
    stage.reserve(ask("r"));
    let full = Err(Refusal::TooManyReservations { limit: 2 });
    assert_eq!(stage.try_reserve(ask("r")).map(drop), full);
    stage.reserve(ask("other"));
    // What has ended is remembered for a while, and counts for as long.
    stage.act(Command::Release { id: first.id, by: of("r") }).unwrap();
    assert_eq!(stage.try_reserve(ask("r")).map(drop), full);
    stage.pass("168h");
    stage.act(Command::Retire { limit: 10 }).unwrap();
    assert_eq!(stage.fleet.reservations_of(&cluster("r")), 1);
    stage.idle("p", "4", "4Gi");
    stage.reserve(ask("r"));
}

#[test]
fn an_id_is_given_once() {
    let mut stage = ready();
    let reserve = |by| Command::Reserve { id: id(1), ask: Box::new(endless()), key: None, by };
    stage.act(reserve(of("r"))).unwrap();
    assert_eq!(stage.act(reserve(of("r"))), Err(Refusal::IdTaken(id(1))));
}

#[test]
fn a_forgotten_cluster_ends_what_it_gave_and_what_it_took() {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi").idle("q", "2", "2Gi");
    let given = stage.reserve(endless());
    assert_eq!(given.provider, cluster("p"));
    let taken = stage.reserve(ask("p", resources("1", "1Gi")));
    assert_eq!(taken.provider, cluster("q"));
    let decision = stage.act(Command::Forget { cluster: cluster("p"), by: operator() }).unwrap();
    assert_eq!(
        happened(&decision),
        [
            &Happening::Ended(Ending::Failed(Failure::ProviderGone)),
            &Happening::Ended(Ending::Released(Release::RequesterGone)),
            &Happening::Forgotten,
        ]
    );
    assert!(stage.fleet.cluster(&cluster("p")).is_none());
    assert_eq!(stage.available("q"), resources("2", "2Gi"));
    let refused = stage.refused(ask("r", resources("3", "3Gi")));
    assert_eq!(refused.considered, 1);
    assert_eq!(
        stage.act(Command::Forget { cluster: cluster("p"), by: operator() }),
        Err(Refusal::UnknownCluster(cluster("p")))
    );
    // It may come back, with nothing promised.
    stage.idle("p", "4", "4Gi");
    assert_eq!(stage.reserved("p"), Resources::NONE);
}

#[test]
fn a_cluster_is_cleared_of_so_many_promises_at_once_and_stays() {
    let mut stage = Stage::new();
    stage.idle("p", "4", "4Gi").idle("q", "2", "2Gi");
    stage.reserve(endless());
    stage.reserve(ask("p", resources("1", "1Gi")));
    let clear = |limit, by| Command::Clear { cluster: cluster("p"), limit, by };
    let first = stage.act(clear(1, operator())).unwrap();
    assert_eq!(happened(&first), [&Happening::Ended(Ending::Failed(Failure::ProviderGone))]);
    let second = stage.act(clear(2, operator())).unwrap();
    assert_eq!(happened(&second), [&Happening::Ended(Ending::Released(Release::ByAdministrator))]);
    assert!(stage.act(clear(2, operator())).unwrap().changes.is_empty());
    assert_eq!(stage.available("p"), resources("4", "4Gi"));
    assert_eq!(
        stage.act(clear(1, of("p"))),
        Err(Refusal::NotAllowed { allowed: "an administrator" })
    );
}

#[test]
fn nothing_is_due_for_a_forgotten_cluster() {
    for stale in [false, true] {
        let mut stage = ready();
        stage.act(Command::Hear { cluster: cluster("p") }).unwrap();
        if stale {
            stage.pass("10m");
            stage.act(Command::MarkStale { limit: 1 }).unwrap();
        }
        stage.act(Command::Forget { cluster: cluster("p"), by: operator() }).unwrap();
        assert_eq!(stage.fleet.next_due(), None, "stale: {stale}");
    }
}

#[test]
fn an_ending_that_makes_room_again_is_told() {
    let mut stage = ready();
    let first = stage.reserve(endless()).id;
    stage.reserve(endless());
    stage.advertise("p", advertisement("1", "4Gi", stage.now)).unwrap();
    let decision = stage.act(release(first, of("r"))).unwrap();
    assert_eq!(
        happened(&decision),
        [
            &Happening::Ended(Ending::Released(Release::ByRequester)),
            &Happening::NoLongerOvercommitted,
        ]
    );
}

#[test]
fn endings_read_like_sentences() {
    let shown = [
        Ending::Released(Release::ByRequester),
        Ending::Released(Release::ByAdministrator),
        Ending::Released(Release::Expired),
        Ending::Released(Release::RequesterGone),
        Ending::Failed(Failure::NoRoom),
        Ending::Failed(Failure::ProviderGone),
    ]
    .map(|ending| ending.to_string());
    assert_eq!(
        shown,
        [
            "released by the requester",
            "released by an administrator",
            "expired",
            "the requester is gone",
            "no cluster had room",
            "the provider is gone",
        ]
    );
    let actors = [of("r"), operator(), Actor::Broker].map(|actor| actor.to_string());
    assert_eq!(actors, ["cluster r", "administrator operator", "the broker"]);
}

#[test]
fn a_sign_of_life_is_remembered_far_more_exactly_than_it_matters() {
    let exact_to = |seconds| {
        let requester_gone_after = Duration::from_seconds(seconds);
        Policy { requester_gone_after, ..Policy::default() }.presence_exact_to()
    };
    assert_eq!(exact_to(24 * 60 * 60), Duration::from_seconds(60));
    assert_eq!(exact_to(1000), Duration::from_seconds(1));
}
