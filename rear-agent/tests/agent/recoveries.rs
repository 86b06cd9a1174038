//! A broker whose ledger was restored from a backup: what it has forgotten stays in effect, and comes back to it.

use rear_testbed::eventually;

use super::agent::Start;
use super::background::in_background;
use super::interruptions::live;
use super::process::Broker;
use super::proxy::Proxy;
use super::requests::{OBJECT, provider, requester};
use super::site::Site;

#[test]
fn a_restored_broker_takes_no_instruction_away_and_no_release_is_lost() {
    let mut broker = Broker::start();
    let way_of_rome = in_background(Proxy::before(broker.address));
    let way_of_paris = in_background(Proxy::before(broker.address));
    let (rome, paris) = (Site::start(), Site::with_nodes(&[("a", "8", "32Gi")]));
    let _of_rome = Start::at(&rome, &broker, "rome", way_of_rome.address).run();
    let _of_paris = Start::at(&paris, &broker, "paris", way_of_paris.address).run();
    for site in [&rome, &paris] {
        site.until(OBJECT, ".status.published", "true");
    }
    broker.kill();
    broker.save();
    broker.restart();
    way_of_rome.lead_to(broker.address);
    way_of_paris.lead_to(broker.address);
    let ids = ["stays", "goes"].map(|name| {
        rome.request(name, "requestedCPU: '2', requestedMemory: 1Gi");
        rome.until_phase(name, "Reserved");
        let id = rome.told(name, "reservationName");
        rome.until(&requester(&id), ".status.delivered", "true");
        paris.until(&provider(&id), ".status.enforced", "true");
        id
    });
    let uid = |site: &Site, object: &str| site.field(object, ".metadata.uid").unwrap();
    let before = (uid(&rome, &requester(&ids[0])), uid(&paris, &provider(&ids[0])));

    broker.replace_by_saved();
    way_of_rome.lead_to(broker.address);
    rome.request("new", "requestedCPU: '1', requestedMemory: 1Gi, waitFor: 10m");
    let told = eventually(|| {
        let message = rome.field_in("default", "rr/new", ".status.message")?;
        message.contains("has not yet said what it holds").then_some(())
    });
    told.expect("the restored broker waits for its provider");
    rome.ask(&["delete", "rr", "goes", "--timeout=120s"]);
    let noted = ".metadata.annotations.rear\\.fluidos\\.eu/release";
    rome.until(&requester(&ids[1]), noted, "wanted");

    way_of_paris.lead_to(broker.address);
    rome.until_phase("new", "Reserved");
    rome.until_gone(&requester(&ids[1]));
    paris.until_gone(&provider(&ids[1]));
    rome.until_phase("stays", "Reserved");
    assert_eq!((uid(&rome, &requester(&ids[0])), uid(&paris, &provider(&ids[0]))), before);
    let mut lives = live(&broker);
    lives.sort();
    let mut expected = vec![ids[0].clone(), rome.told("new", "reservationName")];
    expected.sort();
    assert_eq!(lives, expected);
}
