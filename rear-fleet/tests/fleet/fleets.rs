//! Fleets at a real broker: whatever happens to agents, connections and the broker, every promise is kept.

use std::path::PathBuf;
use std::time::Duration;

use rear_agent_sdk::{Error, Schedule};
use rear_fleet::{Builder, Fleet, Operation, Report, name};
use tokio::time::sleep;

use super::process::Broker;
use super::proxy::Proxy;

/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_mins(1);

const CLUSTERS: usize = 24;

/// A folder with the certificates of the first clusters.
pub(crate) fn certificates(broker: &Broker, clusters: usize) -> PathBuf {
    (0..clusters).for_each(|number| drop(broker.certificates(name(number).as_str())));
    broker.folder.path().to_owned()
}

/// Much happens in it.
pub(crate) fn busy(address: &str, certificates: PathBuf) -> Builder {
    Fleet::builder(address, certificates)
        .clusters(CLUSTERS)
        .seed(7)
        .schedule(Schedule::jittered(Duration::from_secs(2)))
        .churn(Duration::from_secs(2))
        .bursts(8, Duration::from_millis(50))
        .lasting(Duration::from_secs(2))
}

/// Until so many requests were granted.
pub(crate) async fn granted(fleet: &Fleet, count: u64) {
    let enough = async {
        while fleet.report().count(Operation::Reserve) < count {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let stuck = tokio::time::timeout(PATIENCE, enough).await;
    assert!(stuck.is_ok(), "it is stuck:\n{}", fleet.report());
}

pub(crate) async fn settled(mut fleet: Fleet) -> Report {
    let report = fleet.settle(PATIENCE).await;
    fleet.stop().await;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_crash_and_answers_that_are_lost_cost_no_promise() {
    let broker = Broker::start();
    let certificates = certificates(&broker, CLUSTERS);
    let plan = busy(&format!("https://{}", broker.address), certificates);
    let fleet = plan.crashes(Duration::from_secs(3)).lost_answers(30).start().unwrap();
    fleet.advertised().await;
    granted(&fleet, 400).await;
    let report = settled(fleet).await;
    assert!(report.is_clean() && report.failed.is_empty(), "{report}");
    assert!(report.crashes > 0 && report.lost_answers > 0, "{report}");
    assert!(report.count(Operation::Told) > 0 && report.count(Operation::Release) > 0, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_cuts_connections_costs_no_promise() {
    let broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let certificates = certificates(&broker, CLUSTERS);
    let fleet = busy(&format!("https://{}", proxy.address), certificates).start().unwrap();
    fleet.advertised().await;
    for round in 1..=8 {
        granted(&fleet, round * 30).await;
        proxy.cut();
    }
    let report = settled(fleet).await;
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_and_restarted_costs_no_promise() {
    let mut broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let certificates = certificates(&broker, CLUSTERS);
    let fleet = busy(&format!("https://{}", proxy.address), certificates).start().unwrap();
    fleet.advertised().await;
    for round in 1..=3 {
        granted(&fleet, round * 80).await;
        broker.kill();
        broker.restart();
        proxy.lead_to(broker.address);
    }
    let report = settled(fleet).await;
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_a_certificate_is_told_and_nobody_waits_for_it() {
    let broker = Broker::start();
    let certificates = certificates(&broker, 2);
    let address = format!("https://{}", broker.address);
    let fleet = Fleet::builder(&address, &certificates).clusters(3).start().unwrap();
    fleet.advertised().await;
    let failed = fleet.stop().await.failed;
    let [why] = &failed.keys().collect::<Vec<_>>()[..] else { panic!("{failed:?}") };
    assert!(why.contains("oslo"), "{why}");
    let nowhere = Fleet::builder(&address, certificates.join("nowhere")).start();
    assert!(matches!(nowhere.err(), Some(Error::Credentials { .. })));
}
