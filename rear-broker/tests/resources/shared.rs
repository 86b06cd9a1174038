//! Three brokers on one ledger in etcd: all answer over HTTP, and one of them works on the resources.

#[path = "../broker/shared/trio.rs"]
#[allow(dead_code, reason = "the tests of the shared ledger use more of it")]
mod trio;

use rear_testbed::eventually;
use serde_json::json;

use super::stage::{Stage, arguments, cores, prepared};
use trio::Trio;

impl Stage<Trio> {
    /// Which of them has said that it works on the resources, or none yet.
    fn leaders(&self) -> Vec<usize> {
        let leads = |place: &usize| self.broker.brokers[*place].log().contains("this copy works");
        (0..3).filter(leads).collect()
    }
}

#[test]
fn of_three_brokers_one_works_on_the_resources_and_another_takes_over() {
    let server = prepared();
    let flags = arguments(&server, &["--leader-elect"]);
    let mut stage = Stage { broker: Trio::start_with(&flags), server };
    stage.bind("rome", "rome");
    stage.bind("paris", "paris");
    stage.lend("paris", "paris", "16", "64Gi");
    stage.wish("rome", "a", &cores("2"));
    stage.until_phase("rome", "a", "Reserved");
    let [leader] = stage.leaders()[..] else { panic!("{:?} lead", stage.leaders()) };
    let other = (leader + 1) % 3;

    // What another broker has granted is shown by the one that leads.
    let wish = json!({ "requestedResources": { "cpu": "3", "memory": "1Gi" } });
    let made = stage.broker.cluster(other, "rome").post("/api/v1/reservations", &wish).expect(201);
    let made = made["id"].as_str().unwrap().to_owned();
    stage.until_phase("rome", &made, "Reserved");
    stage.until_phase("paris", &made, "Reserved");
    stage.until_left("paris", "paris", "11");

    stage.broker.brokers[leader].kill();
    // Nobody waits for a turn who asks over HTTP.
    stage.broker.cluster(other, "rome").delete(&format!("/api/v1/reservations/{made}")).expect(200);
    stage.wish("rome", "b", &cores("4"));
    stage.ask(&["delete", "reservation", "a", "-n", "rome", "--timeout=120s"]);
    stage.until_phase("rome", "b", "Reserved");
    stage.until_phase("rome", &made, "Released");
    stage.until_left("paris", "paris", "12");
    assert_eq!(stage.leaders().len(), 2, "the first, which is gone, and one more");

    // The first one comes back and serves, without a turn.
    stage.broker.brokers[leader].start();
    stage.broker.await_ready();
    let kept = || {
        let path = "/api/v1/reservations?phase=Reserved&consistency=linearizable";
        let kept = stage.broker.cluster(leader, "rome").get(path).expect(200);
        (kept.as_array()?.len() == 1).then_some(())
    };
    eventually(kept).expect("one reservation is left");
    assert!(!stage.leaders().contains(&leader), "another one leads");
    stage.ask(&["delete", "reservation", "b", "-n", "rome", "--timeout=120s"]);
    stage.until_left("paris", "paris", "16");
    stage.broker.end_the_same();
}
