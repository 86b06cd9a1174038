//! Hostile and clumsy clients: slow, large, deep, wrong, too many. Each gets a clear answer or is cut off.

use std::io::{Read, Write};
use std::net::TcpStream;

use rear_broker::limits::MAX_HEADERS;
use serde_json::json;

use super::process::Broker;
use super::tools::{advertise, advertisement, request};

#[test]
fn bodies_that_make_no_sense_are_refused_clearly() {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let resources =
        |cpu: &str| format!(r#"{{"requestedResources":{{"cpu":{cpu},"memory":"1Gi"}}}}"#);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let cases: [(&str, u16); 16] = [
        ("", 400),
        ("{", 400),
        ("[]", 422),
        ("null", 422),
        (&deep, 400),
        (&resources("1e400"), 400),
        (&resources(r#""1e400""#), 422),
        (&resources(r#""-1""#), 422),
        (&resources("-1"), 422),
        (&resources(r#""9223372036854775808Ei""#), 422),
        (&resources("\"1\u{0}\""), 400),
        (&resources("\"1\\u0000\""), 422),
        (r#"{"requestedResources":{"cpu":"1","cpu":"2","memory":"1Gi"}}"#, 422),
        (r#"{"requestedResources":{"cpu":"1","memory":"1Gi"},"duratoin":"1h"}"#, 422),
        (r#"{"requestedResources":{"cpu":"1","memory":"1Gi"},"duration":"1d"}"#, 422),
        (r#"{"requestedResources":{"cpu":"0","memory":"1Gi"}} trailing"#, 400),
    ];
    for (body, status) in cases {
        let answer = paris.call("POST", "/api/v1/reservations", Some(body.as_bytes()));
        let shown: String = body.chars().take(80).collect();
        assert_eq!(answer.status, status, "{shown}: {}", String::from_utf8_lossy(&answer.body));
        answer.problem(status);
    }
    let answer =
        paris.call("POST", "/api/v1/reservations", Some(b"{\"requestedResources\":\"\xff\"}"));
    assert_eq!(answer.problem(400), "unreadable");
    let named = paris.call(
        "POST",
        "/api/v1/reservations",
        Some(br#"{"requestedResources":{"cpu":"1","memory":"1Gi"},"duratoin":"1h"}"#),
    );
    assert!(named.json()["detail"].as_str().unwrap().contains("duratoin"));
    assert_eq!(paris.get("/api/v1/reservations").expect(200), json!([]));
}

#[test]
fn an_advertisement_for_another_or_with_too_much_consumed_is_refused() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    let refused = rome.post("/api/v1/advertisements", &advertisement("oslo", "8", "16Gi"));
    assert_eq!(refused.problem(403), "other-cluster");
    let mut told = advertisement("rome", "8", "16Gi");
    told["consumed"] = json!([{"requesterID": "paris", "cpu": "1", "memory": "1Gi"}]);
    let refused = rome.post("/api/v1/advertisements", &told);
    assert_eq!(refused.problem(422), "consumed-beyond-allocated");
    told = advertisement("rome", "8", "16Gi");
    told["colour"] = json!({"anything": ["goes", 1e300]});
    rome.post("/api/v1/advertisements", &told).expect(200);
}

#[test]
fn a_body_beyond_the_limit_is_refused_however_it_is_sent() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    let large = vec![b' '; (1 << 20) + 1];
    let answer = paris.call("POST", "/api/v1/reservations", Some(&large));
    assert_eq!(answer.problem(413), "too-large");
    // Whoever asks first is not invited to send it.
    let mut connection = paris.connect().unwrap();
    let expecting =
        [("Expect", "100-continue"), ("Content-Length", "1048577"), ("Connection", "close")];
    let answer = connection.call("POST", "/api/v1/reservations", &expecting, None).unwrap();
    assert_eq!(answer.problem(413), "too-large");
    let mut connection = paris.connect().unwrap();
    connection
        .send(
            b"POST /api/v1/reservations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .unwrap();
    let chunk = [b"10000\r\n", &large[..0x10000], b"\r\n"].concat();
    // It may answer and close before everything is sent.
    for _ in 0..17 {
        if connection.send(&chunk).is_err() {
            break;
        }
    }
    if let Ok(answer) = connection.answer() {
        assert_eq!(answer.problem(413), "too-large");
    }
}

#[test]
fn a_body_of_just_the_limit_is_read_and_one_that_breaks_off_is_not_called_too_large() {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let mut body = request("1", "1Gi").to_string().into_bytes();
    body.resize(1 << 20, b' ');
    paris.call("POST", "/api/v1/reservations", Some(&body)).expect(201);
    let mut connection = paris.connect().unwrap();
    connection
        .send(
            b"POST /api/v1/reservations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n",
        )
        .unwrap();
    assert_eq!(connection.answer().unwrap().problem(400), "unreadable");
}

#[test]
fn whoever_sends_everything_before_they_listen_sees_their_answer() {
    let broker = Broker::start();
    let large = vec![b' '; 8 << 20];
    for _ in 0..4 {
        let refused = broker.cluster("paris").call("POST", "/api/v1/reservations", Some(&large));
        assert_eq!(refused.problem(413), "too-large");
        let refused = broker.client(None).call("POST", "/api/v1/advertisements", Some(&large));
        assert_eq!(refused.problem(401), "no-certificate");
    }
}

#[test]
fn slow_heads_and_slow_handshakes_are_cut_off() {
    let broker = Broker::start();
    let mut silent = TcpStream::connect(broker.address).unwrap();
    silent.set_read_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
    // Half a greeting, and then nothing: the end of the connection comes by itself.
    silent.write_all(&[22, 3, 1]).unwrap();
    assert!(matches!(silent.read(&mut [0; 16]), Ok(0) | Err(_)));
    let mut slow = broker.cluster("paris").connect().unwrap();
    slow.send(b"GET /healthz HTTP/1.1\r\nHost:").unwrap();
    let ended = slow.answer();
    assert!(ended.is_err() || ended.unwrap().status == 408);
    assert_eq!(broker.cluster("paris").get("/healthz").status, 200);
}

#[test]
fn a_slow_body_is_cut_off() {
    let broker = Broker::start();
    let mut slow = broker.cluster("paris").connect().unwrap();
    slow.send(b"POST /api/v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        .unwrap();
    assert_eq!(slow.answer().unwrap().problem(408), "too-slow");
}

#[test]
fn headers_beyond_the_limit_are_refused() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    // With so many headers of which one is the host's.
    let ask = |headers: usize| {
        let others = "X-Other: x\r\n".repeat(headers - 1);
        let mut connection = paris.connect().unwrap();
        let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{others}\r\n");
        connection.send(head.as_bytes()).unwrap();
        connection.answer().map(|answer| answer.status)
    };
    assert_eq!(ask(MAX_HEADERS).unwrap(), 200);
    assert!(ask(MAX_HEADERS + 1).is_ok_and(|status| status == 431));
    let long = "x".repeat(200_000);
    let mut connection = paris.connect().unwrap();
    let answer = connection.call("GET", "/healthz", &[("X-Long", &long)], None);
    assert!(answer.is_err() || answer.unwrap().status == 431);
}

#[cfg(feature = "clients")]
#[test]
fn curl_speaks_http_1_and_2_with_it() {
    use std::process::Command;

    use super::tools::request;

    let broker = Broker::start();
    let rome = broker.files_of(&broker.authority.cluster("rome"), "rome");
    let curl = |arguments: &[&str]| {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--cacert"])
            .arg(rome.join("ca.crt"))
            .arg("--cert")
            .arg(rome.join("tls.crt"))
            .arg("--key")
            .arg(rome.join("tls.key"))
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let at = |path: &str| format!("https://localhost:{}{path}", broker.address.port());
    let told = advertisement("rome", "8", "16Gi").to_string();
    for version in ["--http1.1", "--http2"] {
        let shown = curl(&[version, "--json", &told, &at("/api/v1/advertisements")]);
        assert!(shown.contains(r#""clusterID":"rome""#), "{shown}");
        let used = curl(&[
            version,
            "-o",
            "/dev/null",
            "-w",
            "%{http_version} %{http_code}",
            &at("/healthz"),
        ]);
        assert_eq!(used, if version == "--http2" { "2 200" } else { "1.1 200" });
    }
    let asked = request("100", "1Gi").to_string();
    let refused = curl(&["--json", &asked, "-w", "%{http_code}", &at("/api/v1/reservations")]);
    assert!(refused.ends_with("409") && refused.contains("no-room"), "{refused}");
}

#[test]
fn a_second_broker_on_the_same_data_is_told_who_is_in_the_way() {
    let broker = Broker::start();
    let folder = broker.certificates().parent().unwrap().to_owned();
    let output = super::process::program(&folder, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is a second broker running on the same data?"), "{said}");
}

#[test]
fn what_it_cannot_use_is_named_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let start = || super::process::program(folder.path(), &[]).output().unwrap();
    let said = start();
    assert_eq!(said.status.code(), Some(78));
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("tls.crt cannot be read"), "{text}");
    let authority = super::pki::Authority::new();
    let certs = folder.path().join("certs");
    authority.server().write(&certs, &authority);
    std::fs::write(certs.join("tls.key"), &authority.server().key).unwrap();
    let said = start();
    assert_eq!(said.status.code(), Some(78));
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("cannot be used together"), "{text}");
}

/// A frame of HTTP/2.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[test]
fn a_flood_of_requests_that_are_taken_back_ends_the_connection() {
    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const SETTINGS: u8 = 4;
    const GO_AWAY: u8 = 7;
    let broker = Broker::start();
    let mut flood = broker.cluster("paris").speaking(b"h2").connect().unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    // GET https://x/ in the fewest bytes, taken back at once, again and again.
    let request = [0x82, 0x84, 0x87, 0x41, 0x01, b'x'];
    for number in 0..5000 {
        let stream = 2 * number + 1;
        bytes.extend(frame(HEADERS, 5, stream, &request));
        bytes.extend(frame(RESET, 0, stream, &8_u32.to_be_bytes()));
    }
    // It may be closed before everything is sent.
    let sent = flood.send(&bytes);
    let answer = flood.until_closed();
    let goes_away = answer.windows(9).any(|head| head[3] == GO_AWAY && head[4..] == [0; 5]);
    assert!(sent.is_err() || goes_away, "it was borne");
    assert_eq!(broker.cluster("paris").get("/healthz").status, 200);
}
