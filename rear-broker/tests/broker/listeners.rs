//! The listeners of the operator: probes and metrics for anyone, pages for those on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::process::{Broker, plain};

#[test]
fn the_probes_answer_without_tls_and_nothing_else_is_there() {
    let broker = Broker::start();
    let probes = broker.listener("probes");
    for path in ["/healthz", "/readyz"] {
        let (head, body) = plain(probes, path);
        assert!(head.starts_with("http/1.1 200 ") && body == "ok\n", "{head} {body}");
    }
    for path in ["/metrics", "/api/v1/reservations", "/openapi.json"] {
        assert!(plain(probes, path).0.starts_with("http/1.1 404 "), "{path}");
    }
}

#[test]
fn the_page_about_the_api_needs_nothing_from_elsewhere() {
    let broker = Broker::start();
    let pages = broker.listener("operations");
    assert!(pages.ip().is_loopback());
    let (head, page) = plain(pages, "/api");
    let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: "));
    let policy = policy.unwrap_or_else(|| panic!("{head}"));
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    // Nothing but this listener, nothing that is written into the page.
    assert!(
        !policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'),
        "{policy}"
    );
    assert!(head.contains("content-type: text/html"), "{head}");
    let document: serde_json::Value =
        serde_json::from_str(&plain(pages, "/openapi.json").1).unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let heading = format!("<code>{} {path}</code>", method.to_uppercase());
            assert!(page.contains(&heading), "{heading}");
        }
    }
    for address in ["http://", "https://", "<script", "src=", "style=", "//cdn"] {
        assert!(!page.contains(address), "{address}");
    }
    for link in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        match link.strip_prefix('#') {
            Some(place) => assert!(page.contains(&format!("id=\"{place}\"")), "{link}"),
            None => assert!(plain(pages, link).0.starts_with("http/1.1 200 "), "{link}"),
        }
    }
}

#[test]
fn operators_listen_where_they_say_or_nowhere() {
    let broker =
        Broker::start_with(&["--operations-bind-address=0", "--health-probe-bind-address=0"]);
    let log = broker.log();
    assert!(log.contains("probes=\"nowhere\"") && log.contains("operations=\"nowhere\""), "{log}");
}

/// The status of an answer to these words.
fn status_of(address: SocketAddr, words: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(words.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{words}: {answer}")).parse().unwrap()
}

#[test]
fn pages_for_this_machine_change_nothing_give_no_copy_and_are_read_by_no_other_page() {
    let broker = Broker::start();
    let at = broker.listener("operations");
    let ask = |line: &str, headers: &str| {
        status_of(at, &format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    };
    let here = "Host: localhost\r\n";
    assert_eq!(ask("GET /overview.json", here), 200);
    for host in ["", "Host: rebound.example\r\n", "Host: localhost.rebound.example\r\n"] {
        assert_ne!(ask("GET /overview.json", host), 200, "{host:?}");
    }
    let elsewhere = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n";
    assert_eq!(ask("GET /overview.json", elsewhere), 403);
    let changes = [
        "GET /api/v1/snapshot",
        "GET /api/v1/snapshot?x=1",
        "HEAD /api/v1/snapshot",
        "POST /api/v1/reservations",
        "POST /api/v1/reservations?dryRun=false",
        "POST /api/v1/reservations?dryRun=true&dryRun=false",
        "POST /api/v1/reservations?dryRun=true%26x",
        "POST /api/v1/recovery/end",
        "POST /api/v1/clock/confirm",
        "DELETE /api/v1/advertisements/rome",
        "PUT /api/v1/advertisements",
    ];
    for line in changes {
        assert_eq!(ask(line, here), 403, "{line}");
    }
    // Other spellings of the same addresses lead nowhere.
    for line in [
        "GET /api/v1/snapsho%74",
        "GET //api/v1/snapshot",
        "GET /api/v1/snapshot/",
        "GET /api/v1/../v1/snapshot",
        "GET /API/v1/snapshot",
        "GET /assets/../overview.json",
        "GET /assets/%2e%2e%2foverview.json",
    ] {
        assert_eq!(ask(line, here), 404, "{line}");
    }
}
