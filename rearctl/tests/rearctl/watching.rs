//! Watching: what is there, then what changes, also over a broker that goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rear_agent_sdk::BrokerCommunicator;
use rustix::process::Signal;
use serde_json::Value;

use super::between::Between;
use super::program::Ctl;
use super::stage::{Stage, idle, runtime, until};

#[test]
fn reservations_are_watched_from_what_there_is_to_what_becomes_of_them() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let first = stage.reserve("paris", "1", "1Gi");
    let watch = stage.admin(&["reservations", "watch", "-o", "json"]).start();
    watch.out.wait_for(&first.id);
    let second = stage.reserve("paris", "2", "1Gi");
    watch.out.wait_for(&second.id);
    runtime().block_on(stage.agent("paris").release(&first.id)).unwrap();
    let told = watch.out.wait_for("Released");
    // One object on each line.
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str)> = lines
        .iter()
        .map(|it| (it["id"].as_str().unwrap(), it["status"]["phase"].as_str().unwrap()))
        .collect();
    let (first, second) = (first.id.as_str(), second.id.as_str());
    assert_eq!(told, [(first, "Reserved"), (second, "Reserved"), (first, "Released")]);
    watch.signal(Signal::INT);
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (130, ""), "{ended:?}");
}

#[test]
fn one_reservation_and_one_role_are_watched_alone() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let (one, other) = (stage.reserve("paris", "1", "1Gi"), stage.reserve("paris", "1", "1Gi"));
    let alone = stage.admin(&["reservations", "get", &one.id, "--watch", "-o", "name"]).start();
    let provider =
        ["reservations", "watch", "--role", "provider", "--phase", "released", "-o", "name"];
    let provider = stage.ctl("rome", &provider).start();
    alone.out.wait_for(&one.id);
    let release = |id: &str| runtime().block_on(stage.agent("paris").release(id)).unwrap();
    release(&other.id);
    release(&one.id);
    let twice = |text: &str| text.matches(&one.id).count() == 2;
    assert!(!alone.out.wait_until("both", twice).contains(&other.id));
    let told = provider.out.wait_for(&one.id);
    assert_eq!(told, format!("reservations/{}\nreservations/{}\n", other.id, one.id));
}

#[test]
fn a_watched_cluster_is_shown_again_when_something_is_promised_on_it() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let watch = stage.admin(&["clusters", "watch", "-o", "json"]).start();
    watch.out.wait_for("rome");
    stage.reserve("paris", "3", "1Gi");
    let told = watch.out.wait_until("two pictures", |text| text.lines().count() >= 2);
    let last: Value = serde_json::from_str(told.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["resources"]["reserved"]["cpu"], "3");
    assert_eq!(last["resources"]["available"]["cpu"], "5");
    stage.admin(&["forget", "rome", "--yes"]).out();
    watch.err.wait_for("clusters/rome is gone");
}

#[test]
fn a_cluster_that_changed_as_the_broker_went_is_shown_when_it_is_back() {
    const LOOK: &str = "GET /api/v1/advertisements/rome";
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let away = Arc::new(AtomicBool::new(true));
    let is_away = away.clone();
    let between = Between::before(&stage, move |line, reply| {
        if line == LOOK && is_away.load(Ordering::SeqCst) {
            "503 Service Unavailable".clone_into(&mut reply.status);
        }
    });
    let watch = Ctl::new(stage.folder.path(), &["clusters", "watch", "-o", "json"]);
    let watch = watch.to(&between.url(), &stage.certificates("admin")).start();
    watch.out.wait_for("rome");
    stage.reserve("paris", "3", "1Gi");
    // The event has come: it is not told again.
    until("a look", || between.requests().iter().any(|line| line == LOOK).then_some(()));
    stage.kill();
    watch.err.wait_for("trying again");
    stage.serve();
    // The events are there before the clusters are.
    watch.err.wait_for("the broker is back");
    away.store(false, Ordering::SeqCst);
    let told = watch.out.wait_until("two pictures", |text| text.lines().count() >= 2);
    let last: Value = serde_json::from_str(told.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["resources"]["reserved"]["cpu"], "3");
}

#[test]
fn instructions_are_watched_and_their_end_is_said() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let watch = stage.ctl("rome", &["instructions", "watch", "-o", "name"]).start();
    let made = stage.reserve("paris", "1", "1Gi");
    watch.out.wait_for(&made.id);
    runtime().block_on(stage.agent("paris").release(&made.id)).unwrap();
    watch.err.wait_for(&format!("instructions/{} has ended", made.id));
}

#[test]
fn events_are_followed_and_taken_up_again_behind_the_last_one() {
    let stage = Stage::start();
    let follow = stage.admin(&["events", "--follow", "-o", "json", "--limit", "2"]).start();
    // It has begun when it tells of something.
    let mut cores = 8;
    follow_begins(&stage, &follow, &mut cores);
    stage.advertise(&idle("paris", "1", "1Gi"));
    let told = follow.end();
    assert_eq!(told.code, 0, "{told:?}");
    let events: Vec<Value> =
        told.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["data"]["reason"], "advertised");
    let after = format!("events/{}", events[0]["id"].as_str().unwrap());
    let kept = stage.admin(&["events", "--after", &after, "-o", "wide"]).out();
    assert!(kept.contains("clusters/paris"), "{kept}");
    assert!(!kept.contains(&format!("{after} ")), "{kept}");
}

/// Lets Rome say something new until it is told of.
fn follow_begins(stage: &Stage, follow: &super::program::Running, cores: &mut u32) {
    until("the first event", || {
        *cores += 1;
        stage.advertise(&idle("rome", &cores.to_string(), "16Gi"));
        (!follow.out.so_far().is_empty()).then_some(())
    });
}

#[test]
fn a_watch_outlives_a_broker_that_is_killed_and_misses_nothing() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let first = stage.reserve("paris", "1", "1Gi");
    let watch = stage.admin(&["reservations", "list", "--watch", "-o", "name"]).start();
    watch.out.wait_for(&first.id);
    stage.kill();
    watch.err.wait_for("trying again");
    stage.serve();
    // Made before the watch is back, perhaps: it is told all the same.
    let second = stage.reserve("paris", "1", "1Gi");
    watch.out.wait_for(&second.id);
    let said = watch.err.wait_for("the broker is back");
    assert_eq!(said.matches("trying again").count(), 1, "{said}");
}

#[test]
fn events_are_followed_over_a_broker_that_is_killed_and_none_is_told_twice_or_missed() {
    let stage = Stage::start();
    let follow = stage.admin(&["events", "--follow", "-o", "json"]).start();
    follow_begins(&stage, &follow, &mut 8);
    let first = stage.reserve("paris", "1", "1Gi");
    follow.out.wait_for(&first.id);
    stage.kill();
    follow.err.wait_for("trying again");
    stage.serve();
    let second = stage.reserve("paris", "1", "1Gi");
    follow.err.wait_for("the broker is back");
    let told = follow.out.wait_for(&second.id);
    let events = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids: Vec<String> = events.map(|event| event["id"].to_string()).collect();
    let mut once = ids.clone();
    once.dedup();
    assert_eq!(ids, once);
    for id in [&first.id, &second.id] {
        assert_eq!(told.lines().filter(|line| line.contains(id.as_str())).count(), 1, "{told}");
    }
}

#[test]
fn instructions_are_watched_over_a_broker_that_is_killed() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let first = stage.reserve("paris", "1", "1Gi");
    let watch = stage.ctl("rome", &["instructions", "watch", "-o", "name"]).start();
    watch.out.wait_for(&first.id);
    stage.kill();
    watch.err.wait_for("trying again");
    stage.serve();
    let second = stage.reserve("paris", "1", "1Gi");
    runtime().block_on(stage.agent("paris").release(&first.id)).unwrap();
    watch.out.wait_for(&second.id);
    watch.err.wait_for("the broker is back");
    let said = watch.err.wait_for(&format!("instructions/{} has ended", first.id));
    assert_eq!(said.matches("trying again").count(), 1, "{said}");
    assert_eq!(watch.out.so_far().matches(&first.id).count(), 1);
}

#[test]
fn a_watch_over_a_restored_ledger_says_so_and_lists_anew() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let made = stage.reserve("paris", "1", "1Gi");
    let watch = stage.admin(&["reservations", "watch", "-o", "name"]).start();
    watch.out.wait_for(&made.id);
    stage.restore();
    watch.err.wait_for("the broker's ledger was restored");
    watch.out.wait_until("it again", |text| text.matches(&made.id).count() == 2);
}

#[test]
fn a_wait_ends_when_what_is_waited_for_is_so() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let made = stage.reserve("paris", "1", "1Gi");
    let name = format!("reservations/{}", made.id);
    let active = stage.admin(&["wait", &name, "--for", "Active", "-o", "name"]).start();
    let gone = stage.admin(&["wait", "clusters/rome", "--for", "gone"]).start();
    let known = stage.admin(&["wait", "cluster/milan", "--for", "known", "-o", "name"]).start();
    runtime().block_on(stage.agent("paris").activate(&made.id)).unwrap();
    let told = active.end();
    assert_eq!((told.code, told.out), (0, format!("{name}\n")));
    stage.admin(&["forget", "rome", "--yes"]).out();
    assert_eq!(gone.end().code, 0);
    stage.advertise(&idle("milan", "8", "16Gi"));
    let told = known.end();
    assert_eq!((told.code, told.out.as_str()), (0, "clusters/milan\n"));
    // What is so already is not waited for.
    let ended = stage.admin(&["wait", &name, "--for", "ended"]).run();
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn only_who_may_see_a_cluster_can_wait_until_it_is_gone() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let wait = |who: &str, name: &str, condition: &str| {
        stage.ctl(who, &["wait", &format!("clusters/{name}"), "--for", condition]).run()
    };
    // The same words whether it is there or not: nobody learns from them who is.
    for name in ["rome", "oslo"] {
        for condition in ["gone", "known"] {
            let told = wait("paris", name, condition);
            assert_eq!(told.code, 3, "{told:?}");
            let words = format!("whether there is a cluster `{name}` is not yours to see");
            assert!(told.err.contains(&words), "{told:?}");
        }
    }
    // Who has never advertised is gone, and may know.
    assert_eq!(wait("paris", "paris", "gone").code, 0);
    assert_eq!(wait("admin", "oslo", "gone").code, 0);
}
