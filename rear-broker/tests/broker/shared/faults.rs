//! Under load: brokers and nodes of etcd are killed, stopped, cut off; files are old, clocks jump.

use std::thread::sleep;
use std::time::Duration;

use rear_testbed::{Etcd, eventually};

use super::load::Load;
use super::trio::{SNAPSHOT_EVERY, Trio};
use crate::clock::Clock;
use crate::tools::{advertise, request};

/// Longer than every timeout of brokers and of etcd's sessions.
const LONGER_THAN_ANYONE_WAITS: Duration = Duration::from_secs(12);

/// So many answers show that it goes on.
const GOING_ON: u64 = 60;

fn under_load() -> (Trio, Load) {
    let trio = Trio::start();
    let load = loaded(&trio);
    (trio, load)
}

fn loaded(trio: &Trio) -> Load {
    advertise(&trio.cluster(0, "rome"), "rome", "100000", "100Ti");
    let load = Load::start(trio);
    load.go_on_for(GOING_ON);
    load
}

#[test]
fn brokers_that_are_stopped_or_cut_off_lose_nothing() {
    let (trio, load) = under_load();
    for place in 0..3 {
        trio.brokers[place].cut_off();
        load.go_on_for(GOING_ON);
        // Long enough that whatever was on its way has been given up.
        sleep(Duration::from_secs(6));
        trio.brokers[place].connect_again();
        load.check(&trio);
    }
    trio.brokers[1].signal("STOP");
    load.go_on_for(GOING_ON);
    sleep(LONGER_THAN_ANYONE_WAITS);
    trio.brokers[1].signal("CONT");
    load.check(&trio);
    println!("{} answers, errors: {:#?}", load.succeeded(), load.errors());
}

#[test]
fn nodes_of_etcd_that_are_stopped_lose_nothing() {
    let (mut trio, load) = under_load();
    // One of them is the leader.
    for node in 0..3 {
        trio.etcd.member(node).unwrap().pause().unwrap();
        load.go_on_for(GOING_ON);
        trio.etcd.member(node).unwrap().resume().unwrap();
        load.check(&trio);
    }
    // Two of three: nothing is decided, and nothing is lost.
    for node in 0..2 {
        trio.etcd.member(node).unwrap().pause().unwrap();
    }
    sleep(Duration::from_secs(8));
    for node in 0..2 {
        trio.etcd.member(node).unwrap().resume().unwrap();
    }
    load.check(&trio);
    load.go_on_for(GOING_ON);
    println!("{} answers, errors: {:#?}", load.succeeded(), load.errors());
}

#[test]
fn a_node_of_etcd_that_is_cut_off_from_the_others_loses_nothing() {
    let (trio, load) = under_load();
    // One of them is the leader; one broker asks each of them first.
    for node in 0..3 {
        trio.etcd.cut_off(node);
        load.go_on_for(GOING_ON);
        trio.etcd.join();
        load.check(&trio);
    }
}

#[test]
fn a_running_broker_whose_next_entry_is_gone_goes_on_from_the_snapshot() {
    let (trio, load) = under_load();
    let applied = |place: usize| {
        let metric = |name| trio.brokers[place].metric(name);
        (metric("journal_entry"), metric("journal_followed_total") + metric("commits_total"))
    };
    let (entry, one_by_one) = applied(2);
    trio.brokers[2].cut_off();
    // So many that its next entry is removed, and compacted as well.
    let gone = || (applied(0).0 > entry + 3 * SNAPSHOT_EVERY).then_some(());
    eventually(gone).unwrap();
    assert!(trio.gateway(0).compact());
    trio.brokers[2].connect_again();
    load.check(&trio);
    let (now, so_far) = applied(2);
    assert!(so_far - one_by_one < now - entry, "it read them all: {so_far} {now}");
}

#[test]
fn an_etcd_that_is_full_grants_nothing_by_half() {
    let trio = Trio::on(Etcd::start_apart(&["--quota-backend-bytes=25165824"]).unwrap(), &[]);
    let load = loaded(&trio);
    let large = vec![7; 512 << 10];
    let full = || trio.gateway(0).put("/full", &large).contains("space exceeded").then_some(());
    eventually(full).expect("there is an end to its space");
    for place in 0..3 {
        let paris = trio.cluster(place, "paris");
        let told = || {
            let answer = paris.post("/api/v1/reservations", &request("1m", "1Ki"));
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            (answer.status == 503 && said.contains("space exceeded")).then_some(())
        };
        eventually(told).expect("callers are told why");
    }
    // What an operator does.
    assert!(trio.gateway(0).compact());
    (0..3).for_each(|node| trio.gateway(node).defragment());
    trio.gateway(0).disarm();
    load.go_on_for(GOING_ON);
    load.check(&trio);
}

#[test]
fn a_broker_with_an_old_file_catches_up() {
    let (mut trio, load) = under_load();
    let broker = &mut trio.brokers[2];
    broker.kill();
    let old = std::fs::read(broker.ledger()).unwrap();
    broker.start();
    load.go_on_for(GOING_ON);
    let broker = &mut trio.brokers[2];
    broker.kill();
    std::fs::write(broker.ledger(), old).unwrap();
    load.go_on_for(GOING_ON);
    trio.brokers[2].start();
    load.check(&trio);
    // And one without a file at all.
    let broker = &mut trio.brokers[1];
    broker.kill();
    std::fs::remove_file(broker.ledger()).unwrap();
    broker.start();
    load.check(&trio);
}

#[test]
fn a_clock_that_jumps_stops_its_broker_alone() {
    let (mut trio, load) = under_load();
    let clock = Clock::new(trio.folder.path());
    let broker = &mut trio.brokers[0];
    broker.kill();
    broker.environment = clock.environment().into();
    broker.start();
    load.check(&trio);
    for jump in ["+1h", "-1h"] {
        clock.set(jump);
        let told = || {
            let answer = trio.administrator(0).get("/readyz");
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            (answer.status == 503 && said.contains("the clock")).then_some(())
        };
        eventually(told).expect("it says that its clock is off");
        // Those who prefer it are served by the others.
        load.go_on_for(GOING_ON);
        clock.set("+0");
        load.check(&trio);
    }
}
