//! Clients that ask and do not take, open and do not speak, or say little that becomes much: none keeps what others need.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Connection;
use super::counts::scrape;
use super::hostile::frame;
use super::process::Broker;
use super::tools::{advertise, advertisement, request, reserve};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_OF_STREAM: u8 = 1;
const END_OF_HEADERS: u8 = 4;
const ACKNOWLEDGED: u8 = 1;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// `GET https://x/healthz` in few bytes.
const ASK: &[u8] = b"\x82\x04\x08/healthz\x87\x41\x01x";

/// `POST https://x/api/v1/reservations` in few bytes.
const RESERVE: &[u8] = b"\x83\x04\x14/api/v1/reservations\x87\x41\x01x";

/// The same, only to be told.
const ASK_WHETHER: &[u8] = b"\x83\x04\x20/api/v1/reservations?dryRun=true\x87\x41\x01x";

/// Whatever has not come to pass by then does not.
const PATIENCE: Duration = Duration::from_mins(2);

fn http2(broker: &Broker) -> Connection {
    broker.cluster("paris").speaking(b"h2").connect().unwrap()
}

fn until(what: &str, has: impl Fn() -> bool) {
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    let mut waited = Duration::ZERO;
    while !has() {
        assert!(waited < PATIENCE, "{what}");
        std::thread::sleep(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
}

#[test]
fn what_was_not_agreed_on_is_not_listened_to() {
    let broker = Broker::start();
    // A head of HTTP/1 on a connection that was to speak HTTP/2, where heads have no deadline of their own.
    let mut other = http2(&broker);
    other.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let answer = other.until_closed();
    assert!(!answer.windows(8).any(|bytes| bytes == b"HTTP/1.1"), "it was answered");
    let mut other = broker.cluster("paris").connect().unwrap();
    other.send(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()).unwrap();
    let answer = String::from_utf8_lossy(&other.until_closed()).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
}

#[test]
fn a_flood_of_continuations_ends_the_connection() {
    let broker = Broker::start();
    let mut flood = http2(&broker);
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    bytes.extend(frame(HEADERS, END_OF_STREAM, 1, &[0x82]));
    for _ in 0..100_000 {
        bytes.extend(frame(CONTINUATION, 0, 1, &[0x87]));
    }
    let sent = flood.send(&bytes);
    assert!(sent.is_err() || goes_away(&mut flood), "it was borne");
    assert_eq!(broker.cluster("paris").get("/healthz").status, 200);
}

/// Whether the other end says that it ends, or just does.
fn goes_away(connection: &mut Connection) -> bool {
    loop {
        match connection.frame() {
            Ok((GO_AWAY, ..)) => return true,
            Ok(_) => {}
            Err(error) => return !is_late(error.kind()),
        }
    }
}

/// Nothing came in time: the connection is open.
fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[test]
fn headers_that_become_much_when_they_are_unpacked_are_refused() {
    let broker = Broker::start();
    let mut bomb = http2(&broker);
    // A header of 3000 bytes that is remembered, and then named again with one byte each time: 6 MB.
    let remembered = [&[0x40, 1, b'x', 0x7f, 0xb9, 0x16][..], &[b'a'; 3000]].concat();
    let headers = [ASK, &remembered, &[0xbe; 2000]].concat();
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    bytes.extend(frame(HEADERS, END_OF_STREAM | END_OF_HEADERS, 1, &headers));
    bomb.send(&bytes).unwrap();
    let refused = loop {
        match bomb.frame() {
            // The status of an answer is its first header: 0x88 is 200.
            Ok((HEADERS, _, payload)) => break payload.first() != Some(&0x88),
            Ok((RESET | GO_AWAY, ..)) => break true,
            Ok(_) => {}
            Err(error) => break !is_late(error.kind()),
        }
    };
    assert!(refused, "it was answered as if nothing were wrong");
    assert_eq!(broker.cluster("paris").get("/healthz").status, 200);
}

#[test]
fn answers_without_a_window_are_not_kept_for_ever() {
    keeps_a_window_of(0, ASK);
}

#[test]
fn long_answers_with_a_window_of_one_byte_are_not_kept_for_ever() {
    keeps_a_window_of(1, b"\x82\x04\x14/api/v1/openapi.json\x87\x41\x01x");
}

/// Asks for answers of which not more than so much may be sent (setting 4), and looks alive for as long as it can.
fn keeps_a_window_of(window: u8, ask: &[u8]) {
    let broker = Broker::start();
    let mut greedy = http2(&broker);
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, window])].concat();
    for stream in [1, 3, 5, 7] {
        bytes.extend(frame(HEADERS, END_OF_STREAM | END_OF_HEADERS, stream, ask));
    }
    greedy.send(&bytes).unwrap();
    // It looks alive all the time: every question whether it is gets its answer.
    let closed = loop {
        match greedy.frame() {
            Ok((PING, 0, payload)) => {
                if greedy.send(&frame(PING, ACKNOWLEDGED, 0, &payload)).is_err() {
                    break true;
                }
            }
            Ok((DATA, _, payload)) => assert!(payload.len() <= window.into(), "beyond the window"),
            Ok(_) => {}
            Err(error) => break !is_late(error.kind()),
        }
    };
    assert!(closed, "its answers are still there");
    until("its place is free again", || scrape(&broker).contains("\nrear_broker_connections 0\n"));
}

#[test]
fn answers_that_are_not_read_are_not_kept_for_ever() {
    let broker = Broker::start();
    let mut greedy = broker.cluster("paris").connect().unwrap();
    // More than the system keeps for a connection.
    let ask = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    greedy.send(&ask.repeat(400)).unwrap();
    until("it holds its place for ever", || {
        scrape(&broker).contains("\nrear_broker_connections 0\n")
    });
    drop(greedy);
}

#[test]
fn a_crowd_at_the_metrics_keeps_nobody_from_the_api_and_goes_by_itself() {
    let broker = Broker::start();
    let at = broker.listener("metrics");
    let mut crowd: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(at).unwrap()).collect();
    for stranger in &mut crowd {
        // Those who have no place any more are told so by the end of their connection.
        let _begun_or_closed = stranger.write_all(b"GET /metrics HT");
    }
    let last = crowd.last_mut().unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(last.read(&mut [0; 1]), Ok(0) | Err(_)), "there is room for everyone");
    assert_eq!(broker.cluster("paris").get("/healthz").status, 200);
    // The others are cut off in the middle of their words, and then there is room again.
    until("the crowd stays", || is_answered(at));
}

fn is_answered(at: std::net::SocketAddr) -> bool {
    let asked = TcpStream::connect(at).and_then(|mut stream| {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    asked.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}

/// Some more requests than may wait of one caller, which have begun, and whose bodies never come.
fn beginnings(broker: &Broker, ask: &[u8]) -> Vec<Connection> {
    const STREAMS: u32 = 128;
    let begin = |_| {
        let mut connection = http2(broker);
        let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        for number in 0..STREAMS {
            bytes.extend(frame(HEADERS, END_OF_HEADERS, 2 * number + 1, ask));
        }
        connection.send(&bytes).unwrap();
        connection
    };
    (0..5).map(begin).collect()
}

#[test]
fn bodies_of_requests_that_change_nothing_are_counted_too() {
    let broker = Broker::start();
    let begun = beginnings(&broker, ASK_WHETHER);
    let paris = broker.cluster("paris");
    let asked = || paris.post("/api/v1/reservations?dryRun=true", &request("1m", "1Mi"));
    until("the 513th waits", || asked().status == 429);
    assert_eq!(asked().problem(429), "too-many");
    drop(begun);
    until("those who left are forgotten", || asked().status == 200);
}

#[test]
fn whoever_has_very_many_requests_on_their_way_does_not_keep_others_out() {
    let broker = Broker::start();
    advertise(&broker.cluster("oslo"), "oslo", "8", "16Gi");
    let begun = beginnings(&broker, RESERVE);
    let paris = broker.cluster("paris");
    let asked = || paris.post("/api/v1/reservations", &request("1m", "1Mi"));
    until("the 513th waits", || asked().status == 429);
    assert_eq!(asked().problem(429), "too-many");
    assert_eq!(asked().header("retry-after"), Some("1"));
    // Looking is not limited by it, and others are served.
    assert_eq!(paris.get("/api/v1/reservations").status, 200);
    reserve(&broker.cluster("rome"), "1m", "1Mi");
    drop(begun);
    until("those who left are forgotten", || asked().status == 201);
}

/// The memory of the broker, in megabytes.
fn resident(broker: &Broker) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", broker.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}

/// What a cluster says of itself that lends to ten thousand others: almost a megabyte.
fn large(number: usize) -> Value {
    let mut told = advertisement("rome", "100000", "100Ti");
    told["resources"]["allocated"] = json!({"cpu": "50000", "memory": "50Ti"});
    told["resources"]["allocatable"]["cpu"] = json!((90_000 + number).to_string());
    let long = "x".repeat(40);
    let entry = |by| json!({"requesterID": format!("{long}{by}"), "cpu": "1", "memory": "1Gi"});
    told["consumed"] = (0..9_990).map(entry).collect();
    told
}

#[test]
fn streams_of_large_events_that_are_not_read_keep_few_of_them() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&rome, "rome", "1", "1Gi");
    let seen = rome.get("/api/v1/instructions").header("rear-revision").unwrap().to_owned();
    for number in 0..48 {
        rome.post("/api/v1/advertisements", &large(number)).expect(200);
    }
    let before = resident(&broker);
    let last = [("Last-Event-ID", &*format!("{seen}-0"))];
    let open = |_| {
        let mut stream = rome.connect().unwrap();
        stream.begin("GET", "/api/v1/events", &last, None).unwrap();
        assert_eq!(stream.head().unwrap().0, 200);
        stream
    };
    let streams: Vec<Connection> = (0..8).map(open).collect();
    // Each of them could have almost fifty megabytes.
    let grown = resident(&broker).saturating_sub(before);
    assert!(grown < 8 * 10, "{grown} MB");
    drop(streams);
}

#[test]
fn large_bodies_of_one_caller_that_come_slowly_keep_no_others_out() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let length = 1 << 20;
    let head = format!(
        "POST /api/v1/advertisements HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    );
    let begun = |_| {
        let mut slow = rome.connect().unwrap();
        // Whoever gets no room is told so before all of it has been sent.
        let sent = slow.send(&[head.as_bytes(), &vec![b' '; length - 1]].concat());
        (slow, sent)
    };
    let mut slow: Vec<_> = (0..24).map(begun).collect();
    let statuses = slow.iter_mut().map(|(slow, _)| slow.answer().map(|answer| answer.status));
    // Whoever still sends may miss its answer.
    let statuses: Vec<_> = statuses.filter_map(Result::ok).collect();
    let told = |status| statuses.iter().filter(|found| **found == status).count();
    assert!(told(429) > 0 && told(408) <= 16, "{statuses:?}");
    assert_eq!(told(429) + told(408), statuses.len(), "{statuses:?}");
    reserve(&paris, "1", "1Gi");
    rome.post("/api/v1/advertisements", &large(0)).expect(200);
}
