//! News: instructions that wait for something to happen, and events as they happen.

use std::thread;

use serde_json::{Value, json};

use super::client::Connection;
use super::process::Broker;
use super::tools::{advertise, id_of, reserve};

/// The next event of a stream: its id, its name, its data.
fn next_event(stream: &mut Connection) -> (String, String, Value) {
    loop {
        let chunk = String::from_utf8(stream.chunk().unwrap()).unwrap();
        assert!(!chunk.is_empty(), "the stream ended");
        if chunk.starts_with(':') {
            continue;
        }
        let line = |name: &str| {
            let found = chunk.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {chunk}")).to_owned()
        };
        return (line("id: "), line("event: "), serde_json::from_str(&line("data: ")).unwrap());
    }
}

fn open_stream(client: &super::client::Client, last: Option<&str>) -> Connection {
    let mut stream = client.connect().unwrap();
    let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
    let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: x\r\n{last}\r\n");
    stream.send(head.as_bytes()).unwrap();
    let (status, headers) = stream.head().unwrap();
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".into(), "text/event-stream".into())));
    stream
}

#[test]
fn a_provider_that_waits_is_told_when_something_is_promised() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let seen = rome.get("/api/v1/instructions");
    let after = seen.header("rear-revision").unwrap().to_owned();
    let waiting =
        thread::spawn(move || rome.get(&format!("/api/v1/instructions?wait=50s&after={after}")));
    let made = reserve(&paris, "1", "1Gi");
    let told = waiting.join().unwrap().expect(200);
    assert_eq!(told[0]["id"], made["id"]);
    let own = paris.get("/api/v1/instructions?role=requester").expect(200);
    assert_eq!(own[0]["targetClusterID"], "rome");
    assert_eq!(paris.get("/api/v1/instructions").expect(200), json!([]));
}

#[test]
fn whoever_has_seen_another_ledger_is_told_to_look_again_instead_of_waiting_for_its_state() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&rome, "rome", "8", "16Gi");
    let seen = rome.get("/api/v1/instructions");
    let (life, number) = seen.header("rear-revision").unwrap().split_once('.').unwrap();
    let ahead = number.parse::<u64>().unwrap() + 1;
    for asked in [format!("wait=50s&after={life}.{ahead}"), format!("after={life}.{ahead}")] {
        let told = rome.get(&format!("/api/v1/instructions?{asked}")).expect(410);
        assert_eq!(told["code"], "older-incarnation", "{told}");
    }
    rome.get(&format!("/api/v1/instructions?wait=1ms&after={life}.{number}")).expect(200);
}

#[test]
fn whoever_missed_something_is_told_at_once_and_others_wait() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let before = rome.get("/api/v1/instructions");
    let before = before.header("rear-revision").unwrap();
    reserve(&paris, "1", "1Gi");
    let told = rome.get(&format!("/api/v1/instructions?wait=50s&after={before}"));
    assert_eq!(told.expect(200).as_array().unwrap().len(), 1);
    // Nothing of oslo's has changed: it gets its answer when the time is over.
    let oslo = broker.cluster("oslo");
    let now = told.header("rear-revision").unwrap();
    let told = oslo.get(&format!("/api/v1/instructions?wait=200ms&after={now}"));
    assert_eq!(told.expect(200), json!([]));
    for bad in ["wait=soon", "wait=-1s", "after=yesterday", "role=king"] {
        assert_eq!(oslo.get(&format!("/api/v1/instructions?{bad}")).status, 400, "{bad}");
    }
}

#[test]
fn events_reach_both_sides_and_nobody_else() {
    let broker = Broker::start();
    let (rome, paris, oslo) =
        (broker.cluster("rome"), broker.cluster("paris"), broker.cluster("oslo"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut streams = [open_stream(&rome, None), open_stream(&paris, None)];
    let mut of_oslo = open_stream(&oslo, None);
    let mut of_operator = open_stream(&broker.administrator(), None);
    let made = reserve(&paris, "1", "1Gi");
    let path = format!("/api/v1/reservations/{}", id_of(&made));
    let told: Vec<_> = streams.iter_mut().map(next_event).collect();
    assert_eq!(told[0], told[1]);
    let (id, name, data) = &told[0];
    assert_eq!(name, "reservation");
    assert_eq!(data["reservation"], made);
    assert_eq!(data["by"], "cluster/paris");
    assert_eq!(next_event(&mut of_operator).0, *id);
    paris.delete(&path).expect(200);
    let released = next_event(&mut streams[0]).2;
    assert_eq!(released["reservation"]["status"]["phase"], "Released");
    advertise(&oslo, "oslo", "4", "8Gi");
    let (_, name, data) = next_event(&mut of_oslo);
    assert_eq!((name.as_str(), &data["clusterID"]), ("advertisement", &json!("oslo")));
}

#[test]
fn a_stream_is_taken_up_where_it_was_left_also_after_a_kill() {
    let mut broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut stream = open_stream(&paris, None);
    let made: Vec<String> = (0..4).map(|_| id_of(&reserve(&paris, "1", "1Gi"))).collect();
    let (first, _, _) = next_event(&mut stream);
    drop(stream);
    broker.kill_and_restart();
    let paris = paris.at(broker.address);
    let mut stream = open_stream(&paris, Some(&first));
    for id in &made[1..] {
        assert_eq!(next_event(&mut stream).2["reservation"]["id"], *id);
    }
    let mut connection = paris.connect().unwrap();
    // Also what has not happened yet: nobody else can have told of it.
    let to_come = format!("{}.999-0", first.split_once('.').unwrap().0);
    for last in ["7.1-0", &to_come] {
        let headers = [("Last-Event-ID", last)];
        let gone = connection.call("GET", "/api/v1/events", &headers, None).unwrap();
        assert_eq!(gone.problem(410), "older-incarnation", "{last}");
    }
    let headers = [("Last-Event-ID", "yesterday")];
    let refused = connection.call("GET", "/api/v1/events", &headers, None).unwrap();
    assert_eq!(refused.problem(400), "unreadable");
}

#[test]
fn one_caller_cannot_open_all_streams() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    let mut open: Vec<_> = (0..16).map(|_| open_stream(&paris, None)).collect();
    let refused = paris.get("/api/v1/events");
    assert_eq!(refused.problem(429), "too-many");
    assert!(refused.header("retry-after").is_some());
    drop(open.pop());
    // The place is free again as soon as the broker notices.
    while paris.connect().unwrap().send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n").is_ok() {
        let mut again = paris.connect().unwrap();
        again.send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        if again.head().unwrap().0 == 200 {
            break;
        }
    }
    let _stays = open_stream(&broker.cluster("rome"), None);
}
