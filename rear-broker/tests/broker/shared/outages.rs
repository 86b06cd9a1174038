//! A broker, or the leader of etcd, is killed under load: nothing is lost, and clients with all addresses go on.
//!
//! How long nobody is served is printed and not asserted, as it depends on the machine:
//!
//! ```console
//! cargo test -p rear-broker --features etcd-tests --test broker -- shared::outages --nocapture
//! ```

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "what it measures is printed")]

use std::time::Instant;

use rear_testbed::eventually;

use super::load::Load;
use super::trio::Trio;
use crate::tools::advertise;

/// So many answers show that it goes on for everyone.
const GOING_ON: u64 = 120;

fn under_load() -> (Trio, Load) {
    let trio = Trio::start();
    advertise(&trio.cluster(0, "rome"), "rome", "100000", "100Ti");
    let load = Load::start(&trio);
    load.go_on_for(GOING_ON);
    println!("the slowest answer while all is well: {} ms", load.slowest());
    (trio, load)
}

/// The node of etcd that leads.
fn leader(trio: &Trio) -> usize {
    eventually(|| (0..3).find(|node| trio.gateway(*node).leads() == Some(true))).unwrap()
}

#[test]
fn clients_go_on_when_a_broker_is_killed() {
    let (mut trio, load) = under_load();
    for place in 0..3 {
        load.slowest();
        trio.brokers[place].kill();
        load.go_on_for(GOING_ON);
        println!("the slowest answer when a broker is killed: {} ms", load.slowest());
        trio.brokers[place].start();
        load.check(&trio);
    }
    println!("{} answers, errors: {:#?}", load.succeeded(), load.errors());
}

#[test]
fn clients_go_on_when_the_leader_of_etcd_is_killed() {
    let (mut trio, load) = under_load();
    for _ in 0..3 {
        let killed = leader(&trio);
        load.slowest();
        let since = Instant::now();
        trio.etcd.member(killed).unwrap().kill().unwrap();
        leader(&trio);
        let elected = since.elapsed().as_millis();
        load.go_on_for(GOING_ON);
        println!(
            "etcd elected a leader after {elected} ms, the slowest answer: {} ms",
            load.slowest()
        );
        trio.etcd.member(killed).unwrap().start().unwrap();
        trio.etcd.await_ready().unwrap();
        load.check(&trio);
    }
    println!("{} answers, errors: {:#?}", load.succeeded(), load.errors());
}
