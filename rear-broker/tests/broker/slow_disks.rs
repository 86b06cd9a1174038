//! A disk that takes seconds for what it is given: who lives is told apart from who stands still, and who is important does not
//! wait behind others.

use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use super::client::Client;
use super::pki::Authority;
use super::process::{listener, plain, program, signal, started};
use super::reloads::{RELOADED, change};
use super::supervisor::next;
use super::tools::{advertise, id_of, request};

/// So often the disk is as fast as ever: a broker starts with fewer.
const FAST: u32 = 40;

/// A broker whose disk takes so many milliseconds to keep something, after it was fast for a while.
fn slow(folder: &Path, arguments: &[String], millis: u32) -> Command {
    let plain = program(folder, arguments);
    let mut command = Command::new("strace");
    let delay = format!("inject=fdatasync,fsync:delay_enter={millis}ms:when={FAST}+");
    // `-D`: the child is the broker itself, and signals reach it.
    command.args(["-D", "-f", "-q", "--seccomp-bpf", "-o", "/dev/null"]);
    command.args(["-e", "trace=fdatasync,fsync", "-e", &delay]);
    command.arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stderr(Stdio::piped());
    command
}

/// Sets it at its end, also at a sudden one.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Keeps the ledger's writer busy, with a promise after the other, until it is enough.
fn keep_busy(client: &Client, enough: &AtomicBool) {
    let mut asked = request("1m", "1Mi");
    asked["targetClusterID"] = json!("oslo");
    let mut connection = client.connect().unwrap();
    while !enough.load(Ordering::SeqCst) {
        let body = asked.to_string();
        let answer = connection.call("POST", "/api/v1/reservations", &[], Some(body.as_bytes()));
        answer.unwrap().expect(201);
    }
}

#[test]
fn a_ledger_that_stands_still_is_no_sign_of_life() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = slow(place.path(), &[], 4000);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "1000000");
    let (mut child, address, log) = started(&mut command);
    assert_eq!(next(&socket), "READY=1\nSTATUS=serving\n");
    let client = |name: &str| Client::new(address, &authority, Some(&authority.cluster(name)));
    advertise(&client("oslo"), "oslo", "1000", "1Ti");
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let _enough = Enough(&enough);
        scope.spawn(|| keep_busy(&client("paris"), &enough));
        while !log.lock().unwrap().contains("the ledger's writer is stuck") {
            thread::yield_now();
        }
    });
    // What was said before is read; what comes then is said by a broker that lives again.
    socket.set_nonblocking(true).unwrap();
    while socket.recv(&mut [0; 64]).is_ok() {}
    socket.set_nonblocking(false).unwrap();
    assert_eq!(next(&socket), "WATCHDOG=1\n");
    signal(&child, "TERM");
    assert!(child.wait().unwrap().success());
}

/// Who gets the last of rome's when paris asks for it first, and madrid after it as someone more important, while the ledger is
/// being written?
fn contest(address: SocketAddr, authority: &Authority, metrics: SocketAddr) -> &'static str {
    let ask = |name: &'static str, priority: i32| {
        let mut asked = request("1", "1Mi");
        asked["targetClusterID"] = json!("rome");
        asked["priority"] = json!(priority);
        let client = Client::new(address, authority, Some(&authority.cluster(name)));
        let mut connection = client.connect().unwrap();
        connection
            .begin("POST", "/api/v1/reservations", &[], Some(asked.to_string().as_bytes()))
            .unwrap();
        (name, client, connection)
    };
    let first = ask("paris", 1);
    // Until it waits for the ledger's writer.
    let mut seen = 0;
    while seen < 3 {
        let (_, text) = plain(metrics, "/metrics");
        seen += u32::from(!text.contains("rear_broker_queue 0"));
    }
    let asked = [first, ask("madrid", 2)];
    let answers = asked.map(|(name, client, mut connection)| {
        let answer = connection.answer().unwrap();
        (name, client, (answer.status == 201).then(|| id_of(&answer.json())))
    });
    let mut granted =
        answers.iter().filter_map(|(name, client, id)| Some((*name, client, id.as_ref()?)));
    let (winner, client, id) = granted.next().expect("one of them has it");
    assert!(granted.next().is_none(), "both were granted the last one");
    client.delete(&format!("/api/v1/reservations/{id}")).expect(200);
    winner
}

#[test]
fn how_much_a_priority_counts_is_changed_by_a_reload() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let file = place.path().join("broker.toml");
    std::fs::write(&file, "").unwrap();
    let config = ["--config".to_owned(), file.display().to_string()];
    let (mut child, address, log) = started(&mut slow(place.path(), &config, 150));
    let metrics = listener(&log.lock().unwrap(), "metrics");
    let client = |name: &str| Client::new(address, &authority, Some(&authority.cluster(name)));
    advertise(&client("oslo"), "oslo", "1000", "1Ti");
    advertise(&client("rome"), "rome", "1", "1Gi");
    let change = |text: &str| {
        let log = || log.lock().unwrap().clone();
        change(&file, text, || signal(&child, "HUP"), log, RELOADED);
    };
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let _enough = Enough(&enough);
        scope.spawn(|| keep_busy(&client("berlin"), &enough));
        let win = || contest(address, &authority, metrics);
        // Now and then a commit ends between the two.
        while win() != "madrid" {}
        for (text, what) in [
            ("max-priority = 1\n", "nobody counts more than paris"),
            ("max-priority = 9\npriority-cap = [\"madrid=0\"]\n", "madrid counts less"),
        ] {
            change(text);
            for _ in 0..2 {
                assert_eq!(win(), "paris", "{what}");
            }
        }
        change("");
        while win() != "madrid" {}
    });
    child.kill().unwrap();
    child.wait().unwrap();
}
