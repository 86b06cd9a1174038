//! The agent loop at a real broker: what is promised is in effect once, and what has ended is given back.

use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{Level, Position, Reservation, Role};
use rear_agent_sdk::testing::{Answer, Scripted};
use rear_agent_sdk::{BrokerCommunicator, Error, Intent};
use rear_api::problem::Code;
use rear_api::reservation::PhaseName;
use tokio::sync::{Barrier, OnceCell};

use super::bodies::{advertise, request};
use super::cluster::{Cluster, within};
use super::pki::Authority;
use super::process::{Broker, connect};
use super::proxy::Proxy;
use super::stand_in::StandIn;
use super::together::Together;

/// Until the cluster is known to have so many cores.
async fn shown_with(broker: &impl BrokerCommunicator, cluster: &str, cpu: &str) {
    let cluster = cluster.parse().unwrap();
    within(async {
        loop {
            let shown = broker.advertisement(&cluster).await.unwrap();
            if shown.is_some_and(|shown| shown.resources.allocatable.cpu.0 == cpu) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_put_a_promise_into_effect_and_give_it_back() {
    let broker = Broker::start();
    let (rome, paris) = (Cluster::new("8", "16Gi"), Cluster::new("1", "1Gi"));
    let of_rome = rome.agent("rome", broker.cluster("rome"));
    let of_paris = paris.agent("paris", broker.cluster("paris"));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let user = broker.cluster("paris");
    let made = user.reserve(&request("2", "4Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.keeps(Role::Provider, &made.id)).await;
    paris.until(|memory| memory.keeps(Role::Requester, &made.id)).await;
    user.release(&made.id).await.unwrap();
    rome.until(|memory| memory.kept.is_empty()).await;
    paris.until(|memory| memory.kept.is_empty()).await;
    assert_eq!(rome.with(|memory| memory.asked.clone()), [made.id]);
    of_rome.stop().await.unwrap();
    of_paris.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_an_agent_says_goes_over_one_connection() {
    let broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let http = broker.cluster_at("rome", proxy.address);
    let agent = rome.agent_every("rome", http.clone(), Duration::from_millis(50));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let paris = broker.cluster("paris");
    for count in 1..=5 {
        paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
        rome.until(|memory| memory.kept.len() == count).await;
        // While both sides wait for news on it.
        http.ping().await.unwrap();
    }
    agent.stop().await.unwrap();
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_published_without_waiting_for_the_schedule() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster("rome"));
    let looking = broker.cluster("rome");
    shown_with(&*looking, "rome", "8").await;
    rome.now_has("6", "16Gi");
    shown_with(&*looking, "rome", "6").await;
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_cannot_keep_is_rejected_with_its_reason() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    rome.with(|memory| memory.refuses = Some("no peering".to_owned()));
    let agent = rome.agent("rome", broker.cluster("rome"));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let paris = broker.cluster("paris");
    let mut events = paris.events(None).await.unwrap();
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    within(events.next()).await.unwrap().unwrap();
    let ended = within(events.next()).await.unwrap().unwrap().data.reservation.unwrap();
    assert_eq!((ended.id, ended.status.phase), (made.id, PhaseName::Failed));
    assert!(ended.status.message.contains("no peering"), "{}", ended.status.message);
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_until_it_is_in_effect() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    rome.with(|memory| memory.failures = 3);
    let agent = rome.agent("rome", broker.cluster("rome"));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    broker.cluster("paris").reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.kept.len() == 1).await;
    assert_eq!(rome.with(|memory| memory.asked.len()), 4);
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_undo_is_put_into_effect_again_without_news_of_the_broker() {
    let broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster_at("rome", proxy.address));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let paris = broker.cluster("paris");
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.keeps(Role::Provider, &made.id)).await;
    // The broker cannot say anything any more.
    proxy.lose_answers();
    rome.disturb();
    rome.until(|memory| memory.keeps(Role::Provider, &made.id)).await;
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_newer_than_the_last_level_is_not_given_back() {
    let broker = Broker::start();
    advertise(&*broker.cluster("paris"), "paris").await;
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster_at("rome", proxy.address));
    let user = broker.cluster("rome");
    let known = user.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.keeps(Role::Requester, &known.id)).await;
    // The agent hears of nothing, while someone on its cluster asks the broker and uses what they got.
    proxy.lose_answers();
    let made = user.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.uses(&made);
    let last = user.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    proxy.cut();
    rome.until(|memory| memory.kept.iter().any(|(_, kept)| kept.id == last.id)).await;
    assert_eq!(rome.with(|memory| memory.given_back.clone()), [""; 0]);
    // What has ended is given back all the same.
    user.release(&made.id).await.unwrap();
    rome.until(|memory| memory.given_back == [made.id.clone()]).await;
    agent.stop().await.unwrap();
}

fn promise(id: &str) -> Reservation {
    let text = format!(
        r#"{{"id":"{id}","requesterID":"rome","targetClusterID":"paris",
        "requestedResources":{{"cpu":"1","memory":"1Gi"}},"status":{{"phase":"Reserved"}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_ledger_in_an_earlier_life_takes_nothing_away_at_once() {
    let broker = Arc::new(Scripted::default());
    let tell = |incarnation, promises| {
        let at = Some(Position { incarnation, number: 5 });
        broker.will(Answer::Instructions(Role::Requester, Ok(Level::new(promises, at))));
    };
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.clone());
    tell(9, vec![promise("old")]);
    rome.until(|memory| memory.keeps(Role::Requester, "old")).await;
    tell(1, vec![promise("new")]);
    tell(1, vec![promise("new")]);
    rome.until(|memory| memory.kept.len() == 2).await;
    assert_eq!(rome.with(|memory| memory.given_back.clone()), [""; 0]);
    agent.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_fell_back_takes_nothing_away_at_once_and_adds_what_is_new() {
    let broker = Arc::new(Scripted::default());
    let tell = |answer| broker.will(Answer::Instructions(Role::Requester, answer));
    let level =
        |promises, number| Ok(Level::new(promises, Some(Position { incarnation: 1, number })));
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.clone());
    tell(level(vec![promise("old")], 50));
    rome.until(|memory| memory.keeps(Role::Requester, "old")).await;
    tell(Err(Error::Restored));
    tell(level(vec![promise("new")], 3));
    rome.until(|memory| memory.kept.len() == 2).await;
    assert_eq!(rome.with(|memory| memory.given_back.clone()), [""; 0]);
    tokio::time::sleep(Duration::from_mins(11)).await;
    for number in 4..7 {
        tell(level(vec![promise("new")], number));
    }
    rome.until(|memory| memory.given_back == ["old"]).await;
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_on_which_the_brokers_word_cannot_be_read_is_not_given_back() {
    let broker = Arc::new(Scripted::default());
    let tell = |level| broker.will(Answer::Instructions(Role::Requester, Ok(level)));
    let at = |number| Some(Position { incarnation: 1, number });
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.clone());
    tell(Level::new(vec![promise("ended"), promise("unclear")], at(1)));
    rome.until(|memory| memory.kept.len() == 2).await;
    tell(Level::new(Vec::new(), at(2)).without_word_on(vec!["unclear".to_owned()]));
    rome.until(|memory| memory.given_back == ["ended"]).await;
    assert!(rome.with(|memory| memory.keeps(Role::Requester, "unclear")));
    // What the last level did not name is asked for once more.
    for _ in 0..2 {
        tell(Level::new(Vec::new(), at(3)));
    }
    rome.until(|memory| memory.given_back == ["ended", "unclear"]).await;
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_is_told_how_publishing_goes() {
    let mut broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let communicator = broker.cluster_at("rome", proxy.address);
    let agent = rome.agent_every("rome", communicator, Duration::from_millis(100));
    rome.until(|memory| memory.told.contains(&true)).await;
    broker.kill();
    proxy.cut();
    rome.until(|memory| memory.told.last() == Some(&false)).await;
    broker.restart();
    proxy.lead_to(broker.address);
    rome.until(|memory| memory.told.last() == Some(&true)).await;
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_away_takes_up_what_it_missed() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster("rome"));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let paris = broker.cluster("paris");
    let ends = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    let stays = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.kept.len() == 2).await;
    agent.stop().await.unwrap();
    paris.release(&ends.id).await.unwrap();
    let made = paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    let agent = rome.agent("rome", broker.cluster("rome"));
    rome.until(|memory| {
        let mut kept: Vec<_> = memory.kept.iter().map(|(_, promise)| &promise.id).collect();
        kept.sort();
        kept == [&stays.id, &made.id]
    })
    .await;
    // Nothing was handed over twice.
    assert_eq!(rome.with(|memory| memory.asked.len()), 3);
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_was_killed_finds_its_agents_again() {
    let mut broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster_at("rome", proxy.address));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    broker.cluster("paris").reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.kept.len() == 1).await;
    broker.kill();
    broker.restart();
    proxy.lead_to(broker.address);
    broker.cluster("paris").reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    rome.until(|memory| memory.kept.len() == 2).await;
    assert_eq!(rome.with(|memory| memory.asked.len()), 2);
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_copy_of_an_agent_replaces_the_older() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    let often = Duration::from_millis(100);
    let older = rome.agent_every("rome", broker.cluster("rome"), often);
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let newer = rome.agent_every("rome", broker.cluster("rome"), often);
    let error = within(older.ended).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Replaced { ours: 1, theirs: 2 }), "{error:?}");
    newer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_agents_that_start_in_the_same_moment_one_goes_on() {
    let broker = Broker::start();
    let rome = Cluster::new("8", "16Gi");
    let other = Arc::new(Barrier::new(2));
    let agent = || {
        let (broker, other) = (broker.cluster("rome"), other.clone());
        let together = Arc::new(Together { broker, other, looked: OnceCell::new() });
        rome.agent_every("rome", together, Duration::from_millis(100))
    };
    let (mut one, mut another) = (agent(), agent());
    let (ended, goes_on) = within(async {
        tokio::select! {
            ended = &mut one.ended => (ended, another),
            ended = &mut another.ended => (ended, one),
        }
    })
    .await;
    let error = ended.unwrap().unwrap_err();
    assert!(matches!(error, Error::Replaced { ours: 1, theirs: 2 }), "{error:?}");
    rome.now_has("6", "16Gi");
    shown_with(&*broker.cluster("rome"), "rome", "6").await;
    goes_on.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_restored_from_a_backup_learns_from_its_provider_what_it_has_forgotten() {
    let mut broker = Broker::start();
    let proxy = Proxy::before(broker.address).await;
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.cluster_at("rome", proxy.address));
    shown_with(&*broker.cluster("rome"), "rome", "8").await;
    let reserve = async |broker: &Broker, cpu: &str| {
        broker.cluster("paris").reserve(&request(cpu, "1Gi"), &Intent::new()).await
    };
    reserve(&broker, "1").await.unwrap();
    rome.until(|memory| memory.kept.len() == 1).await;
    broker.kill();
    broker.save();
    broker.restart();
    proxy.lead_to(broker.address);
    let forgotten = reserve(&broker, "6").await.unwrap();
    rome.until(|memory| memory.kept.len() == 2).await;
    broker.replace_by_saved();
    // It knows of one core, and must not grant the six again.
    let refused = reserve(&broker, "6").await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    proxy.lead_to(broker.address);
    let paris = broker.cluster("paris");
    within(async {
        while !matches!(paris.reservation(&forgotten.id).await, Ok(found) if found.status.phase == PhaseName::Reserved)
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Nothing was given back or handed over again, and what is left can be had.
    assert_eq!(rome.with(|memory| (memory.kept.len(), memory.asked.len())), (2, 2));
    let refused = reserve(&broker, "2").await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    reserve(&broker, "1").await.unwrap();
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_another_clusters_certificate_ends_at_once() {
    let broker = Broker::start();
    let agent = Cluster::new("8", "16Gi").agent("rome", broker.cluster("paris"));
    let error = within(agent.ended).await.unwrap().unwrap_err();
    let other = matches!(error, Error::OtherCluster { .. });
    let refused = matches!(&error, Error::Refused(why) if why.code == Some(Code::OtherCluster));
    assert!(other || refused, "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_of_the_earlier_system_is_served_too_and_told_only_what_brokers_can_read() {
    let authority = Authority::new();
    let broker = StandIn::start(&authority).await;
    let folder = tempfile::tempdir().unwrap();
    let cluster = |name: &str| {
        authority.cluster(name).write(&folder.path().join(name), &authority);
        connect(broker.address, folder.path().join(name))
    };
    let paris = cluster("paris");
    advertise(&*cluster("rome"), "rome").await;
    paris.reserve(&request("1", "1Gi"), &Intent::new()).await.unwrap();
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent_every("rome", cluster("rome"), Duration::from_millis(100));
    rome.until(|memory| memory.kept.len() == 1).await;
    let told = || broker.state.lock().unwrap().advertisements["rome"].clone();
    let sequence = || told()["sequence"].as_u64().unwrap_or_default();
    let before = sequence();
    within(async {
        while sequence() < before + 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Its ids are its own: a broker that takes its place would refuse all that is told because of them.
    assert_eq!(told()["holding"], serde_json::json!([]));
    agent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_takes_the_place_of_an_earlier_one_is_followed_by_requesters_too() {
    let broker = Broker::start();
    let earlier = StandIn::start(&broker.authority).await;
    let proxy = Proxy::before(earlier.address).await;
    let paris = Cluster::new("1", "1Gi");
    let http = broker.cluster_at("paris", proxy.address);
    let agent = paris.agent_every("paris", http, Duration::from_millis(50));
    paris.until(|memory| memory.told.contains(&true)).await;
    proxy.lead_to(broker.address);
    proxy.cut();
    advertise(&*broker.cluster("rome"), "rome").await;
    shown_with(&*broker.cluster("paris"), "paris", "1").await;
    let user = broker.cluster("paris");
    let made = user.reserve(&request("2", "4Gi"), &Intent::new()).await.unwrap();
    paris.until(|memory| memory.keeps(Role::Requester, &made.id)).await;
    agent.stop().await.unwrap();
}
