//! The listeners of the operator: probes and metrics for anyone, pages for those on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::process::Broker;

/// What a listener without TLS answers: status and head, and the body.
pub(crate) fn plain(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

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
