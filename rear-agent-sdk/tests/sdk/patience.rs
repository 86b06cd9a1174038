//! How an agent waits for a broker that does not answer or is behind, on a clock of the test's own.

use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{Level, Position, Role};
use rear_agent_sdk::testing::{Answer, Said, Scripted};
use rear_agent_sdk::{Error, Watch};
use tokio::time::{Instant, sleep, timeout};

use super::cluster::Cluster;

const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// When each of these was said.
async fn times(broker: &Scripted, count: usize, is: fn(&Said) -> bool) -> Vec<Instant> {
    let mut times = Vec::new();
    while times.len() < count {
        let said = broker.said().iter().filter(|said| is(said)).count();
        times.resize(said.max(times.len()), Instant::now());
        sleep(Duration::from_millis(10)).await;
    }
    times
}

fn unreachable() -> Error {
    Error::Unreachable { source: "nobody is there".into() }
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_broker_is_gone_pings_ever_later_and_publishes_when_it_is_back() {
    let broker = Arc::new(Scripted::default());
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.patient_agent("rome", broker.clone(), Duration::from_mins(1), FIRST_PAUSE);
    let published = |said: &Said| matches!(said, Said::Publish(_));
    times(&broker, 1, published).await;
    broker.will(Answer::Publish(Err(unreachable())));
    (0..5).for_each(|_| broker.will(Answer::Ping(Err(unreachable()))));
    let failed = times(&broker, 2, published).await[1];
    let pings = times(&broker, 6, |said| matches!(said, Said::Ping)).await;
    let mut last = failed;
    for (ping, seconds) in pings.into_iter().zip([5, 10, 20, 30, 30, 30]) {
        let (pause, longest) = (ping - last, Duration::from_secs(seconds));
        let rounding = Duration::from_millis(20);
        assert!(pause + rounding >= longest / 2 && pause <= longest + rounding, "{pause:?}");
        last = ping;
    }
    // The sixth was answered: what the cluster has is told at once, and was not told before.
    times(&broker, 3, published).await;
    assert!(last.elapsed() < Duration::from_secs(1));
    agent.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changes_that_come_together_are_published_together_with_what_others_use() {
    let broker = Arc::new(Scripted::default());
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent("rome", broker.clone());
    let published = |said: &Said| matches!(said, Said::Publish(_));
    times(&broker, 1, published).await;
    for cpu in ["7", "6", "5"] {
        rome.now_has(cpu, "16Gi");
        sleep(Duration::from_millis(1)).await;
    }
    rome.lets_use("paris", "2", "1Gi");
    let changed = Instant::now();
    times(&broker, 2, published).await;
    assert!(changed.elapsed() < Duration::from_secs(10), "not only on the schedule");
    sleep(Duration::from_mins(10)).await;
    let said = broker.said();
    let told = said.iter().filter_map(|said| match said {
        Said::Publish(told) => Some(told),
        _ => None,
    });
    let [_, last] = &told.collect::<Vec<_>>()[..] else { panic!("{said:?}") };
    assert_eq!(last.resources.allocatable.cpu.0, "5");
    let [used] = &last.consumed.as_ref().unwrap()[..] else { panic!("{last:?}") };
    assert_eq!((used.requester_id.as_str(), used.cpu.0.as_str()), ("paris", "2"));
    agent.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changes_that_are_none_do_not_put_off_what_is_due() {
    let broker = Arc::new(Scripted::default());
    let rome = Cluster::new("8", "16Gi");
    let agent = rome.agent_every("rome", broker.clone(), Duration::from_secs(30));
    let began = Instant::now();
    let restless = tokio::spawn({
        let rome = rome.clone();
        async move {
            loop {
                rome.now_has("8", "16Gi");
                sleep(Duration::from_millis(500)).await;
            }
        }
    });
    let published = |said: &Said| matches!(said, Said::Publish(_));
    let in_time = timeout(Duration::from_mins(10), times(&broker, 10, published)).await;
    assert!(in_time.is_ok(), "{:?}", broker.said().len());
    assert!(began.elapsed() > Duration::from_mins(3), "no more often than it is due");
    restless.abort();
    agent.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_interrupted_while_it_waits_for_a_poll_polls_in_time() {
    let broker = Arc::new(Scripted::default());
    let mut told = Watch::new(broker.clone(), Role::Provider);
    let earlier = || Answer::Instructions(Role::Provider, Ok(Level::new(Vec::new(), None)));
    (0..2).for_each(|_| broker.will(earlier()));
    told.next().await.unwrap();
    let mut within_two_seconds =
        async || timeout(Duration::from_secs(2), told.next()).await.is_ok();
    assert!(!within_two_seconds().await && !within_two_seconds().await, "not before five seconds");
    assert!(within_two_seconds().await, "{:?}", broker.said());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_stopped_closes_its_communicator_once() {
    let broker = Arc::new(Scripted::default());
    let agent = Cluster::new("8", "16Gi").agent("rome", broker.clone());
    times(&broker, 1, |said| matches!(said, Said::Publish(_))).await;
    agent.stop().await.unwrap();
    assert_eq!(broker.said().iter().filter(|said| **said == Said::Close).count(), 1);
}

async fn next_of(told: &mut Watch) -> Result<String, Error> {
    let next = timeout(Duration::from_mins(1), told.next()).await.expect("nothing is passed on");
    next.map(|level| level.revision.unwrap().to_string())
}

fn level(incarnation: u64, number: u64) -> Answer {
    let revision = Some(Position { incarnation, number });
    Answer::Instructions(Role::Provider, Ok(Level::new(Vec::new(), revision)))
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_what_was_seen_is_not_passed_on() {
    let broker = Arc::new(Scripted::default());
    let mut told = Watch::new(broker.clone(), Role::Provider);
    for (incarnation, number) in [(1, 5), (1, 4), (1, 5), (1, 6), (2, 1)] {
        broker.will(level(incarnation, number));
    }
    for expected in ["1.5", "1.5", "1.6", "2.1"] {
        assert_eq!(next_of(&mut told).await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_seen_more_of_a_ledger_than_there_is_gives_nothing_back_for_ten_minutes() {
    let broker = Arc::new(Scripted::default());
    let mut told = Watch::new(broker.clone(), Role::Provider);
    let level = |number| {
        let revision = Some(Position { incarnation: 1, number });
        Answer::Instructions(Role::Provider, Ok(Level::new(Vec::new(), revision)))
    };
    let fell_back = || Answer::Instructions(Role::Provider, Err(Error::Restored));
    for answer in [level(50), fell_back(), level(3), level(4), level(5)] {
        broker.will(answer);
    }
    assert!(!told.next().await.unwrap().fell_back);
    assert!(told.next().await.unwrap().fell_back);
    sleep(Duration::from_mins(9)).await;
    assert!(told.next().await.unwrap().fell_back, "also what comes later");
    sleep(Duration::from_mins(2)).await;
    assert!(!told.next().await.unwrap().fell_back, "whoever operates it has had time");
}

#[tokio::test(start_paused = true)]
async fn an_earlier_life_of_a_ledger_is_one_that_fell_back() {
    let broker = Arc::new(Scripted::default());
    let mut told = Watch::new(broker.clone(), Role::Provider);
    for (incarnation, number) in [(1, 50), (9, 1), (1, 60), (1, 61), (9, 2)] {
        broker.will(level(incarnation, number));
    }
    for fell_back in [false, false, true, true] {
        assert_eq!(told.next().await.unwrap().fell_back, fell_back);
    }
    sleep(Duration::from_mins(11)).await;
    assert!(!told.next().await.unwrap().fell_back, "a later life is a restored one");
}

#[tokio::test(start_paused = true)]
async fn whoever_has_seen_a_ledger_that_was_restored_since_gets_its_first_level() {
    let broker = Arc::new(Scripted::default());
    let mut told = Watch::new(broker.clone(), Role::Provider);
    let restored = || Answer::Instructions(Role::Provider, Err(Error::Restored));
    broker.will(restored());
    let nothing_seen = next_of(&mut told).await;
    assert!(matches!(nothing_seen, Err(Error::Restored)), "{nothing_seen:?}");
    for answer in [level(1, 5), restored(), level(2, 1)] {
        broker.will(answer);
    }
    for expected in ["1.5", "2.1"] {
        assert_eq!(next_of(&mut told).await.unwrap(), expected);
    }
    assert_eq!(broker.said().last(), Some(&Said::Instructions(Role::Provider, None)));
}
