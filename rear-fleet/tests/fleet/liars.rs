//! Promises that are really broken are noticed: someone does behind the fleet's back what a broker must not do.

use std::time::Duration;

use rear_agent_sdk::communicator::Role;
use rear_agent_sdk::{BrokerCommunicator, Intent};
use rear_fleet::{Broken, Fleet, Operation, Side};

use super::fleets::{certificates, granted};
use super::process::{Broker, connect};

const CLUSTERS: usize = 4;

/// What is broken is so at once, and stays.
const PATIENCE: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_is_taken_away_is_noticed_by_both_sides() {
    let broker = Broker::start();
    let certificates = certificates(&broker, CLUSTERS);
    let plan = Fleet::builder(format!("https://{}", broker.address), certificates);
    let plan = plan.clusters(CLUSTERS).bursts(1, Duration::from_millis(300));
    let mut fleet = plan.lasting(Duration::from_mins(10)).start().unwrap();
    fleet.advertised().await;
    granted(&fleet, 1).await;
    let administrator = broker.files_of(&broker.authority.administrator("admin"), "admin");
    let administrator = connect(broker.address, administrator);
    let taken = oldest(&broker).await;
    all_told(&fleet).await;
    administrator.release(&taken).await.unwrap();
    let both = async {
        loop {
            let sides = taken_from(&fleet.report().broken, &taken);
            if sides == [Side::Requester, Side::Provider] {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), both).await.unwrap();
    let report = fleet.settle(PATIENCE).await;
    // The books, too, have less than what was promised.
    let differs = |broken: &Broken| matches!(broken, Broken::LedgerDiffers { .. });
    assert!(report.broken.iter().any(differs), "{report}");
}

/// A reservation of the fleet.
async fn oldest(broker: &Broker) -> String {
    loop {
        for number in 0..CLUSTERS {
            let cluster = broker.cluster(rear_fleet::name(number).as_str());
            if let Some(made) = cluster.reservations(Role::Requester).await.unwrap().first() {
                return made.id.clone();
            }
        }
    }
}

/// Until some more were granted, and both sides were told of all that were.
async fn all_told(fleet: &Fleet) {
    granted(fleet, fleet.report().count(Operation::Reserve) + 2).await;
    while fleet.report().count(Operation::Told) != 2 * fleet.report().count(Operation::Reserve) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn taken_from(broken: &[Broken], taken: &str) -> Vec<Side> {
    let side = |broken: &Broken| match broken {
        Broken::TakenAway { id, side } if id == taken => Some(*side),
        _ => None,
    };
    let mut sides: Vec<_> = broken.iter().filter_map(side).collect();
    sides.sort();
    sides
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_to_nobody_is_noticed() {
    let broker = Broker::start();
    let certificates = certificates(&broker, CLUSTERS);
    let plan = Fleet::builder(format!("https://{}", broker.address), certificates);
    let mut fleet = plan.clusters(CLUSTERS).start().unwrap();
    fleet.advertised().await;
    let rome = broker.cluster("rome");
    let made = rome.reserve(&rear_agent_sdk::request("1", "1Gi"), &Intent::new()).await.unwrap();
    let report = fleet.settle(Duration::from_secs(2)).await;
    let sides = [Side::Requester, Side::Provider];
    for side in sides {
        let expected = Broken::NobodyAsked { id: made.id.clone(), side };
        assert!(report.broken.contains(&expected), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_gone_is_told_and_not_waited_for() {
    let mut broker = Broker::start();
    let certificates = certificates(&broker, CLUSTERS);
    let plan = Fleet::builder(format!("https://{}", broker.address), certificates);
    let mut fleet = plan.clusters(CLUSTERS).start().unwrap();
    fleet.advertised().await;
    broker.kill();
    let report = fleet.settle(PATIENCE).await;
    assert_eq!(report.broken, [Broken::NoAnswer], "{report}");
}
