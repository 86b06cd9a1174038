//! The life of a reservation, through the communicator, at a real broker.

use std::time::Duration;

use rear_agent_sdk::communicator::{Role, Wait};
use rear_agent_sdk::{BrokerCommunicator, Error, Intent, Watch};
use rear_api::dry_run::Candidate;
use rear_api::moment;
use rear_api::problem::Code;
use rear_api::reservation::PhaseName;

use super::bodies::{advertise, advertisement, request};
use super::process::Broker;

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_do_the_whole_cycle() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    rome.ping().await.unwrap();
    advertise(&*rome, "rome").await;
    let mut told = Watch::new(rome.clone(), Role::Provider);
    assert_eq!(told.next().await.unwrap().instructions, []);
    let waiting = tokio::spawn(async move { (told.next().await, told) });
    let made = paris.reserve(&request("2", "4Gi"), &Intent::new()).await.unwrap();
    assert_eq!(made.target_cluster_id, "rome");
    let (level, _told) = waiting.await.unwrap();
    assert_eq!(level.unwrap().instructions[0].id, made.id);
    let active = paris.activate(&made.id).await.unwrap();
    assert_eq!(active.status.phase, PhaseName::Active);
    let end = moment::read(made.status.expires_at.as_deref().unwrap()).unwrap();
    let later = end.plus(rear_engine::Duration::from_seconds(600));
    let renewed = paris.renew(&made.id, later).await.unwrap();
    assert_eq!(renewed.status.expires_at, Some(moment::text(later)));
    let released = paris.release(&made.id).await.unwrap();
    assert_eq!(released.status.phase, PhaseName::Released);
    assert_eq!(paris.release(&made.id).await.unwrap(), released);
    assert_eq!(rome.instructions(Role::Provider, None).await.unwrap().instructions, []);
    assert_eq!(paris.reservation(&made.id).await.unwrap(), released);
    assert_eq!(paris.reservations(Role::Requester).await.unwrap(), [released]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_may_reject_and_the_requester_learns_why() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&*rome, "rome").await;
    let mut events = paris.events(None).await.unwrap();
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.data.reservation.unwrap().id, made.id);
    drop(events);
    rome.reject(&made.id, "the disks are full").await.unwrap();
    let mut events = paris.events(Some(first.id)).await.unwrap();
    let second = events.next().await.unwrap().unwrap();
    assert_eq!(
        (second.name.as_str(), second.data.reason.as_deref()),
        ("reservation", Some("rejected"))
    );
    let ended = second.data.reservation.unwrap();
    assert_eq!(ended.status.phase, PhaseName::Failed);
    assert!(ended.status.message.contains("the disks are full"), "{}", ended.status.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_explains_and_locks_nothing() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&*rome, "rome").await;
    let explained = paris.dry_run(&request("2", "4Gi")).await.unwrap();
    assert_eq!(explained.target.as_deref(), Some("rome"));
    assert!(matches!(explained.candidates[..], [Candidate::Fitting(_)]));
    let shown = rome.advertisement(&"rome".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(shown.resources.available.cpu.0, "8");
    assert_eq!(paris.advertisement(&"paris".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_for_each_cluster_what_was_missing() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&*rome, "rome").await;
    let error = paris.reserve(&request("9", "1Gi"), &Intent::new()).await.unwrap_err();
    assert!(!error.is_transient());
    let Error::Refused(refused) = error else { panic!("{error:?}") };
    assert_eq!(refused.code, Some(Code::NoRoom));
    let missing = &refused.candidates[0];
    assert_eq!(missing.cluster_id.as_deref(), Some("rome"));
    assert_eq!(missing.dimension.as_deref(), Some("cpu"));
    assert_eq!(missing.available.as_ref().unwrap().0, "8");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_intent_is_one_reservation() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&*rome, "rome").await;
    let intent = Intent::new();
    let made = paris.reserve(&request("1", "1Gi"), &intent).await.unwrap();
    assert_eq!(paris.reserve(&request("1", "1Gi"), &intent).await.unwrap(), made);
    let error = paris.reserve(&request("2", "1Gi"), &intent).await.unwrap_err();
    let Error::Refused(refused) = error else { panic!("{error:?}") };
    assert_eq!(refused.code, Some(Code::KeyReused));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_allowed_is_typed() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    let missing = paris.reservation("rsv-0/../../x").await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing:?}");
    let other = paris.publish(&advertisement("rome", "8", "16Gi")).await.unwrap_err();
    assert!(matches!(other, Error::OtherCluster { .. }), "{other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_what_waits_and_what_comes_later() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    let revision = rome.instructions(Role::Provider, None).await.unwrap().revision.unwrap();
    let waiting = rome.clone();
    let waiting = tokio::spawn(async move {
        let wait = Wait { after: revision, at_most: Duration::from_secs(50) };
        waiting.instructions(Role::Provider, Some(wait)).await
    });
    tokio::task::yield_now().await;
    rome.close();
    assert!(matches!(waiting.await.unwrap(), Err(Error::Closed)));
    assert!(matches!(rome.ping().await, Err(Error::Closed)));
}
