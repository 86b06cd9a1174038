//! API servers go away, and come back to what the ledger has: nothing is locked twice or released twice.

use super::stage::{Stage, cores};

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
