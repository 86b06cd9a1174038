//! etcd without an API server, asked over its JSON gateway.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rear_testbed::{Etcd, Members, eventually};

/// A node without a quorum lets its clients wait; this is how long a test does.
const ANSWER: Duration = Duration::from_secs(2);

/// Posts to a node and returns what it answers, or none where it does not or is not content.
fn post(endpoint: &str, path: &str, body: &str) -> Option<String> {
    let address = endpoint.strip_prefix("http://")?;
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(answer)
}

/// Keys and values are in base64 on this wire: these are "key", and "old" or "new".
const KEY: &str = "a2V5";
const OLD: &str = "b2xk";
const NEW: &str = "bmV3";

fn put(endpoint: &str, value: &str) -> Option<()> {
    post(endpoint, "/v3/kv/put", &format!(r#"{{"key":"{KEY}","value":"{value}"}}"#)).map(drop)
}

/// Whether a linearizable read finds the value.
fn holds(endpoint: &str, value: &str) -> bool {
    post(endpoint, "/v3/kv/range", &format!(r#"{{"key":"{KEY}"}}"#))
        .is_some_and(|answer| answer.contains(&format!(r#""value":"{value}""#)))
}

#[test]
fn one_node_is_there_again_with_its_data_after_a_kill() {
    let mut etcd = Etcd::start(Members::One).unwrap();
    let endpoint = etcd.endpoints().remove(0);
    put(&endpoint, OLD).unwrap();
    etcd.member(0).unwrap().kill().unwrap();
    assert!(!holds(&endpoint, OLD), "nobody is there");
    etcd.member(0).unwrap().start().unwrap();
    etcd.await_ready().unwrap();
    assert!(holds(&endpoint, OLD));
    assert!(etcd.member(1).is_none());
}

#[test]
fn two_nodes_of_three_go_on_and_one_alone_does_not() {
    let mut etcd = Etcd::start(Members::Three).unwrap();
    let endpoints = etcd.endpoints();
    put(&endpoints[0], OLD).unwrap();
    assert!(endpoints.iter().all(|endpoint| holds(endpoint, OLD)), "all are one cluster");

    etcd.member(0).unwrap().kill().unwrap();
    eventually(|| put(&endpoints[1], NEW)).unwrap();
    assert!(holds(&endpoints[2], NEW));

    etcd.member(1).unwrap().pause().unwrap();
    assert!(put(&endpoints[2], OLD).is_none(), "one of three decides nothing");
    etcd.member(1).unwrap().resume().unwrap();
    etcd.member(0).unwrap().start().unwrap();
    etcd.await_ready().unwrap();
    // The write without a quorum was never acknowledged, and may have been kept or not: write again.
    eventually(|| put(&endpoints[0], NEW)).unwrap();
    assert!(endpoints.iter().all(|endpoint| holds(endpoint, NEW)), "all are one cluster again");
}
