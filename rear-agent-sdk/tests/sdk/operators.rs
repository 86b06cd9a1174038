//! What programs of operators ask: lists page by page, how the broker is, and that a cluster is forgotten.

use rear_agent_sdk::http::ReservationFilter;
use rear_agent_sdk::{BrokerCommunicator, Error, Intent};
use rear_api::reservation::PhaseName;

use super::bodies::{advertise, request};
use super::process::{Broker, connect};

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_page_by_page_and_have_everyone_once() {
    let broker = Broker::start();
    for name in ["rome", "milan", "turin"] {
        advertise(&*broker.cluster(name), name).await;
    }
    let paris = broker.cluster("paris");
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    let folder = broker.files_of(&broker.authority.administrator("operator"), "operator");
    let operator = connect(broker.address, folder);
    let mut page = operator.clusters_page(Some(1)).await.unwrap();
    let (mut names, mut pages) = (Vec::new(), 1);
    loop {
        assert!(page.items.len() <= 1 && page.revision.is_some());
        names.extend(page.items.iter().map(|cluster| cluster.cluster_id.clone()));
        let Some(next) = &page.next else { break };
        page = operator.next_page(next).await.unwrap();
        pages += 1;
    }
    assert_eq!(names, ["milan", "rome", "turin"]);
    assert!(pages >= 3, "{pages}");
    let of = |phase| ReservationFilter { role: None, phase: Some(phase) };
    let reserved = operator.reservations_page(&of(PhaseName::Reserved), None).await.unwrap();
    assert_eq!(reserved.items, [made]);
    let released = operator.reservations_page(&of(PhaseName::Released), None).await.unwrap();
    assert_eq!((released.items.len(), released.next), (0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_tells_how_it_is_and_forgets_a_cluster_for_administrators_alone() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&*rome, "rome").await;
    let readiness = rome.readiness().await.unwrap();
    assert!(readiness.ready && readiness.revision.is_some(), "{readiness:?}");
    // Both run on one machine, and the date is rounded down to a second.
    let apart = rear_agent_sdk::now().since(readiness.clock.unwrap()).as_nanos();
    assert!(apart >= 0, "{readiness:?}");
    assert_eq!(rome.api_version().await.unwrap(), "v1");
    assert!(!rome.broker_certificate().await.unwrap().is_empty());
    let id = "rome".parse().unwrap();
    let refused = rome.forget(&id).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    let folder = broker.files_of(&broker.authority.administrator("operator"), "operator");
    let operator = connect(broker.address, folder);
    operator.forget(&id).await.unwrap();
    assert_eq!(operator.advertisement(&id).await.unwrap(), None);
    let again = operator.forget(&id).await.unwrap_err();
    assert!(matches!(again, Error::NotFound { .. }), "{again:?}");
}
