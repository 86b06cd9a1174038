//! Ten thousand agents that are connected and say nothing.

use std::fs;
use std::thread;

use super::client::Connection;
use super::process::Broker;

/// As many agents as one broker should bear.
const CONNECTIONS: usize = 10_000;

/// What each may cost in memory that the broker really uses.
const MOST_BYTES_EACH: usize = 32 << 10;

/// Threads that connect: handshakes wait for the broker, not for each other.
const HANDS: usize = 8;

/// Memory that a process really uses, in bytes.
fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn ten_thousand_idle_connections_cost_at_most_32_kib_each() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    // What the first ones cost is not paid again: code that is loaded, pools that are filled.
    let connect = |count: usize| -> Vec<Connection> {
        let path = "/api/v1/instructions";
        let greet = |_| {
            let mut connection = paris.connect().unwrap();
            connection.call("GET", path, &[], None).unwrap().expect(200);
            connection
        };
        (0..count).map(greet).collect()
    };
    drop(connect(100));
    let before = resident(broker.id());
    let open: Vec<Connection> = thread::scope(|scope| {
        let hands: Vec<_> =
            (0..HANDS).map(|_| scope.spawn(|| connect(CONNECTIONS / HANDS))).collect();
        hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
    });
    let each = resident(broker.id()).saturating_sub(before) / CONNECTIONS;
    let counted = super::counts::scrape(&broker);
    println!("{each} bytes for each of {} connections", open.len());
    assert!(counted.contains(&format!("\nrear_broker_connections {CONNECTIONS}\n")), "{counted}");
    assert!(each <= MOST_BYTES_EACH, "{each} bytes each");
    // All of them are still there, and are answered.
    for mut connection in open.into_iter().step_by(100) {
        connection.call("GET", "/api/v1/instructions", &[], None).unwrap().expect(200);
    }
}
