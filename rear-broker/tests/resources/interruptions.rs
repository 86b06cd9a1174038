//! Brokers and API servers go away at the worst moments: nothing is locked twice or released twice.

use std::thread;
use std::time::Duration;

use super::stage::{Stage, cores};

#[test]
fn a_broker_that_is_killed_between_any_two_writes_locks_and_releases_once() {
    let mut stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "40", "64Gi");
    let names: Vec<String> = (0..10).map(|step| format!("r{step}")).collect();
    // Each time a little later after the wish, through all writes that follow it.
    for (step, name) in (0..).zip(&names) {
        stage.wish("rome", name, &cores("1"));
        thread::sleep(Duration::from_millis(step * 3));
        stage.broker.kill_and_restart();
    }
    for name in &names {
        stage.until_phase("rome", name, "Reserved");
        let id = stage.told("rome", name, "reservationID");
        stage.until_phase("paris", &id, "Reserved");
    }
    stage.until_left("paris", "paris", "30");
    for (step, name) in (0..).zip(&names) {
        stage.ask(&["delete", "reservation", name, "-n", "rome", "--wait=false"]);
        thread::sleep(Duration::from_millis(step * 3));
        stage.broker.kill_and_restart();
    }
    stage.ask(&["wait", "--for=delete", "reservation", "--all", "-n", "rome", "--timeout=120s"]);
    stage.until_left("paris", "paris", "40");
    stage.until("paris", "clusteradvertisement/paris-adv", ".spec.resources.reserved.cpu", "0");
    stage.end();
}

#[test]
fn an_api_server_that_was_away_finds_everything_as_the_ledger_has_it() {
    let mut stage = Stage::bound(&["rome", "paris"]);
    stage.lend("paris", "paris", "8", "32Gi");
    stage.wish("rome", "a", &format!("{}, duration: 1h", cores("2")));
    stage.until_phase("rome", "a", "Reserved");
    let id = stage.told("rome", "a", "reservationID");
    stage.server.process().kill().unwrap();
    // Meanwhile it is given back over HTTP.
    stage.broker.cluster("rome").delete(&format!("/api/v1/reservations/{id}")).expect(200);
    stage.server.process().start().unwrap();
    stage.server.await_ready().unwrap();
    stage.until_phase("rome", "a", "Released");
    stage.until_phase("paris", &id, "Released");
    stage.until_left("paris", "paris", "8");
    stage.wish("rome", "b", &cores("3"));
    stage.until_phase("rome", "b", "Reserved");
    stage.until_left("paris", "paris", "5");
    stage.end();
}
