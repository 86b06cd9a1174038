//! Who is who: from the certificate of the connection alone, on every route, on every request.

use serde_json::{Value, json};

use super::client::{Answer, Client, Connection};
use super::hostile::frame;
use super::pki::{Authority, Identity, LONG_AGO, Subject};
use super::process::Broker;
use super::tools::{advertise, advertisement, id_of, request, reserve};

/// Every route that needs a certificate, for a reservation of this id.
fn routes(id: &str) -> Vec<(&'static str, String, Option<Value>)> {
    let reservation = format!("/api/v1/reservations/{id}");
    vec![
        ("POST", "/api/v1/advertisements".into(), Some(advertisement("rome", "8", "16Gi"))),
        ("GET", "/api/v1/advertisements".into(), None),
        ("GET", "/api/v1/advertisements/rome".into(), None),
        ("DELETE", "/api/v1/advertisements/rome".into(), None),
        ("POST", "/api/v1/reservations".into(), Some(request("1", "1Gi"))),
        ("GET", "/api/v1/reservations".into(), None),
        ("GET", reservation.clone(), None),
        ("POST", format!("{reservation}/activate"), None),
        (
            "POST",
            format!("{reservation}/renew"),
            Some(json!({"expiresAt": "2026-12-01T00:00:00Z"})),
        ),
        ("POST", format!("{reservation}/reject"), Some(json!({"reason": "full"}))),
        ("DELETE", reservation, None),
        ("GET", "/api/v1/instructions".into(), None),
        ("GET", "/api/v1/events".into(), None),
        ("GET", "/api/v1/openapi.json".into(), None),
    ]
}

fn call(client: &Client, (method, path, body): &(&str, String, Option<Value>)) -> Answer {
    let body = body.as_ref().map(|body| body.to_string().into_bytes());
    client.call(method, path, body.as_deref())
}

/// A broker on which rome lends to paris.
fn lending() -> (Broker, String) {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let made = reserve(&broker.cluster("paris"), "1", "1Gi");
    (broker, id_of(&made))
}

#[test]
fn without_a_certificate_nothing_but_the_health_is_answered() {
    let (broker, id) = lending();
    let nobody = broker.client(None);
    for route in routes(&id) {
        assert_eq!(call(&nobody, &route).problem(401), "no-certificate", "{route:?}");
    }
    // Nor is it said what there is, and what can be done with it.
    for (method, path) in
        [("GET", "/api/v1/nothing"), ("GET", "/"), ("PUT", "/api/v1/reservations")]
    {
        assert_eq!(nobody.call(method, path, None).problem(401), "no-certificate", "{path}");
    }
    assert_eq!(nobody.get("/healthz").status, 200);
    assert_eq!(nobody.get("/readyz").status, 200);
    assert_eq!(nobody.call("PUT", "/healthz", None).problem(405), "method-not-allowed");
}

#[test]
fn a_certificate_that_does_not_name_exactly_one_cluster_names_nobody() {
    let (broker, id) = lending();
    let spiffe = "spiffe://rear.example/cluster/rome";
    let other = "spiffe://rear.example/cluster/oslo";
    let in_capitals = "SPIFFE://rear.example/cluster/oslo";
    let named = |names| Subject::named(names);
    let bad: [Subject<'_>; 13] = [
        named(&[]),
        named(&["rome", "oslo"]),
        named(&["rome", "rome"]),
        named(&["../rome"]),
        named(&["Rome"]),
        named(&["r\u{043e}me"]),
        named(&[""]),
        named(&["rome\0"]),
        named(&[" rome"]),
        named(&["a.very.long.name.that.has.more.than.sixty-three.characters.in.it"]),
        Subject { uris: &[other], ..named(&["rome"]) },
        Subject { uris: &[in_capitals], ..named(&["rome"]) },
        Subject { uris: &[spiffe, spiffe], ..named(&["rome"]) },
    ];
    for subject in bad {
        let client = broker.client(Some(&broker.authority.client(&subject)));
        for route in routes(&id) {
            let code = call(&client, &route).problem(401);
            assert_eq!(code, "bad-identity", "{:?} {route:?}", subject.common_names);
        }
        assert_eq!(client.get("/healthz").status, 200);
    }
    let good = Subject { uris: &[spiffe, "spiffe://rear.example/ns/x"], ..named(&["rome"]) };
    let client = broker.client(Some(&broker.authority.client(&good)));
    assert_eq!(client.get("/api/v1/advertisements/rome").status, 200);
}

#[test]
fn a_stranger_finds_nothing_and_changes_nothing() {
    let (broker, id) = lending();
    let before = broker.administrator().get(&format!("/api/v1/reservations/{id}")).expect(200);
    let stranger = broker.cluster("oslo");
    let expected = [
        ("POST", "/api/v1/advertisements", 403),
        ("GET", "/api/v1/advertisements/rome", 404),
        ("DELETE", "/api/v1/advertisements/rome", 404),
    ];
    for route in routes(&id) {
        let answer = call_unless_stream(&stranger, &route);
        let Some(answer) = answer else { continue };
        let fixed =
            expected.iter().find(|(method, path, _)| *method == route.0 && *path == route.1);
        let status = match fixed {
            Some((_, _, status)) => *status,
            None if route.1.contains(&id) => 404,
            None if route.0 == "POST" => 201,
            None => 200,
        };
        assert_eq!(answer.status, status, "{route:?}");
        if status == 200 && !route.1.ends_with("openapi.json") && !route.1.ends_with("instructions")
        {
            let own = answer.json();
            let strange = own.as_array().unwrap().iter().any(|item| item["requesterID"] == "paris");
            assert!(!strange, "{own}");
        }
    }
    let after = broker.administrator().get(&format!("/api/v1/reservations/{id}")).expect(200);
    assert_eq!(after, before);
}

fn call_unless_stream(
    client: &Client,
    route: &(&'static str, String, Option<Value>),
) -> Option<Answer> {
    (!route.1.ends_with("/events")).then(|| call(client, route))
}

#[test]
fn foreign_and_expired_certificates_do_not_even_connect() {
    let (broker, _) = lending();
    let foreign = Authority::new().cluster("rome");
    let expired = Subject { until: Some(LONG_AGO), ..Subject::named(&["rome"]) };
    for identity in [foreign, broker.authority.client(&expired)] {
        let answer = broker
            .client(Some(&identity))
            .connect()
            .and_then(|mut connection| connection.call("GET", "/healthz", &[], None));
        assert!(answer.is_err(), "{answer:?}");
    }
}

#[test]
fn a_certificate_of_a_server_lets_nobody_in() {
    let (broker, _) = lending();
    let server = broker.authority.server();
    let answer = broker
        .client(Some(&server))
        .connect()
        .and_then(|mut connection| connection.call("GET", "/api/v1/reservations", &[], None));
    assert!(answer.is_err(), "{answer:?}");
}

fn revoke(broker: &Broker, identity: &Identity) {
    let list = broker.authority.revocations(&[identity]);
    std::fs::write(broker.certificates().join("ca.crl"), list).unwrap();
    broker.signal("HUP");
}

#[test]
fn a_revoked_certificate_ends_open_connections_and_streams_too() {
    let (broker, _) = lending();
    let identity = broker.authority.cluster("rome");
    let rome = broker.client(Some(&identity));
    let mut open = rome.connect().unwrap();
    assert_eq!(open.call("GET", "/api/v1/instructions", &[], None).unwrap().status, 200);
    let mut stream = rome.connect().unwrap();
    stream.send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(stream.head().unwrap().0, 200);
    revoke(&broker, &identity);
    // The same connection, which was believed before.
    let refused = loop {
        let answer = open.call("GET", "/api/v1/instructions", &[], None).unwrap();
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(refused.problem(401), "no-certificate");
    assert!(refused.json()["detail"].as_str().unwrap().contains("no longer counts"));
    assert_eq!(refused.header("connection"), Some("close"));
    let again = rome.connect().and_then(|mut new| new.call("GET", "/healthz", &[], None));
    assert!(again.is_err(), "a new connection is not made: {again:?}");
    // The stream ends with its next sign of life, and others are not disturbed.
    while stream.chunk().is_ok_and(|chunk| !chunk.is_empty()) {}
    assert_eq!(broker.cluster("rome").get("/api/v1/instructions").status, 200);
}

#[test]
fn whoever_is_refused_for_a_certificate_is_told_to_come_on_another_connection_also_at_http_2() {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const GO_AWAY: u8 = 7;
    let (broker, _) = lending();
    let identity = broker.authority.cluster("rome");
    let mut open = broker.client(Some(&identity)).speaking(b"h2").connect().unwrap();
    // GET https://x/api/v1/instructions in few bytes.
    let ask = b"\x82\x04\x14/api/v1/instructions\x87\x41\x01x";
    let beginning = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(SETTINGS, 0, 0, &[])[..]].concat();
    open.send(&beginning).unwrap();
    let mut stream = 1;
    // Whether it is answered, and whether the connection is to end. The status is the first header: 0x88 is 200.
    let mut answered = |open: &mut Connection| {
        open.send(&frame(HEADERS, 5, stream, ask)).unwrap();
        stream += 2;
        let mut goes_away = false;
        loop {
            match open.frame().unwrap() {
                (HEADERS, _, headers) => break (headers[0] == 0x88, goes_away),
                (GO_AWAY, ..) => goes_away = true,
                _ => {}
            }
        }
    };
    for _ in 0..3 {
        assert_eq!(answered(&mut open), (true, false));
    }
    revoke(&broker, &identity);
    let mut goes_away = loop {
        match answered(&mut open) {
            (true, goes_away) => assert!(!goes_away),
            (false, goes_away) => break goes_away,
        }
    };
    // At once, and not when it does not answer whether it lives.
    while !goes_away {
        let (kind, ..) = open.frame().unwrap();
        assert_ne!(kind, PING, "the connection stays open");
        goes_away = kind == GO_AWAY;
    }
}

#[test]
fn whom_an_authority_in_between_has_signed_counts_until_that_is_revoked() {
    let broker = Broker::start();
    let (between, its_own) = broker.authority.between();
    let mut rome = between.cluster("rome");
    rome.certificate += &between.certificate;
    let rome = broker.client(Some(&rome));
    let mut open = rome.connect().unwrap();
    assert_eq!(open.call("GET", "/api/v1/instructions", &[], None).unwrap().status, 200);
    revoke(&broker, &its_own);
    while open.call("GET", "/api/v1/instructions", &[], None).is_ok_and(|it| it.status == 200) {
        std::thread::yield_now();
    }
    let again = rome.connect().and_then(|mut new| new.call("GET", "/healthz", &[], None));
    assert!(again.is_err(), "it was believed");
    assert_eq!(broker.cluster("paris").get("/api/v1/instructions").status, 200);
}

#[test]
fn an_administrator_that_is_a_cluster_has_the_rights_of_one() {
    let broker = Broker::start();
    let rome = broker.client(Some(&broker.authority.administrator("rome")));
    advertise(&broker.cluster("paris"), "paris", "8", "16Gi");
    advertise(&rome, "rome", "8", "16Gi");
    let path = |made: &Value| format!("/api/v1/reservations/{}", id_of(made));
    let borrowed = path(&reserve(&rome, "1", "1Gi"));
    rome.post(&format!("{borrowed}/activate"), &json!({})).expect(200);
    let lent = path(&reserve(&broker.cluster("paris"), "1", "1Gi"));
    let rejected = rome.post(&format!("{lent}/reject"), &json!({"reason": "no more"})).expect(200);
    assert_eq!(rejected["status"]["phase"], "Failed");
    // One that is none has only its own.
    let operator = broker.administrator();
    let not_its_own = operator.post(&format!("{borrowed}/activate"), &json!({}));
    assert_eq!(not_its_own.problem(403), "not-allowed");
}

#[test]
fn what_is_revoked_stays_so_when_its_list_cannot_be_read_or_goes() {
    let (broker, _) = lending();
    let identity = broker.authority.cluster("rome");
    revoke(&broker, &identity);
    let lets_in = || {
        let rome = broker.client(Some(&identity)).connect();
        rome.and_then(|mut new| new.call("GET", "/healthz", &[], None)).is_ok()
    };
    while lets_in() {}
    let list = broker.certificates().join("ca.crl");
    let refused = |times: usize| {
        while broker.log().matches("the old ones stay").count() < times {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(!lets_in(), "{}", broker.log());
    };
    std::fs::write(&list, b"\x30\x82 a list that is not PEM").unwrap();
    refused(1);
    std::fs::write(&list, b"").unwrap();
    refused(2);
    std::fs::remove_file(&list).unwrap();
    refused(3);
    assert!(broker.log().contains("what it revoked stays revoked"), "{}", broker.log());
}

#[test]
fn whoever_is_revoked_while_they_wait_hears_nothing_more() {
    let (broker, _) = lending();
    let identity = broker.authority.cluster("rome");
    let rome = broker.client(Some(&identity));
    let revision = rome.get("/api/v1/instructions").header("rear-revision").unwrap().to_owned();
    let mut waiting = rome.connect().unwrap();
    let ask =
        format!("GET /api/v1/instructions?wait=50s&after={revision} HTTP/1.1\r\nHost: x\r\n\r\n");
    waiting.send(ask.as_bytes()).unwrap();
    revoke(&broker, &identity);
    while rome.connect().and_then(|mut new| new.call("GET", "/healthz", &[], None)).is_ok() {}
    reserve(&broker.cluster("paris"), "1", "1Gi");
    assert_eq!(waiting.answer().unwrap().problem(401), "no-certificate");
}

#[test]
fn a_name_that_is_not_text_is_of_nothing_that_is_there() {
    let (broker, _) = lending();
    let rome = broker.cluster("rome");
    rome.get("/api/v1/reservations/%ff").problem(404);
    rome.get("/api/v1/advertisements/%c3%28").problem(404);
    rome.delete("/api/v1/reservations/%ff").problem(404);
    rome.call("POST", "/api/v1/reservations/%ff/activate", None).problem(404);
}

#[cfg(feature = "clients")]
#[test]
fn sessions_are_not_resumed() {
    use std::process::Command;

    let (broker, _) = lending();
    let files = broker.files_of(&broker.authority.cluster("rome"), "rome");
    for version in ["-tls1_2", "-tls1_3"] {
        let output = Command::new("openssl")
            .args(["s_client", "-reconnect", version, "-connect", &broker.address.to_string()])
            .arg("-cert")
            .arg(files.join("tls.crt"))
            .arg("-key")
            .arg(files.join("tls.key"))
            .arg("-CAfile")
            .arg(files.join("ca.crt"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("New, TLSv1"), "{said}");
        assert!(!said.contains("Reused, TLSv1"), "{said}");
    }
}

#[test]
fn new_certificates_are_taken_and_bad_ones_are_not() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    assert_eq!(rome.get("/healthz").status, 200);
    std::fs::write(broker.certificates().join("tls.crt"), "not a certificate").unwrap();
    broker.signal("HUP");
    wait_for(&broker, "new certificates cannot be used");
    assert_eq!(rome.get("/healthz").status, 200, "the old ones stay");
    let other = Authority::new();
    other.server().write(&broker.certificates(), &other);
    broker.signal("HUP");
    wait_for(&broker, "certificates were reloaded");
    assert!(rome.connect().and_then(|mut new| new.call("GET", "/healthz", &[], None)).is_err());
    let client = Client::new(broker.address, &other, Some(&other.cluster("rome")));
    assert_eq!(client.get("/api/v1/instructions").status, 200);
}

#[test]
fn certificates_behind_symbolic_links_are_followed_when_these_move() {
    let broker = Broker::start();
    let folder = broker.certificates();
    let other = Authority::new();
    other.server().write(&folder.join("..data-2"), &other);
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        std::fs::remove_file(folder.join(name)).unwrap();
        std::os::unix::fs::symlink(format!("..data-2/{name}"), folder.join(name)).unwrap();
    }
    // Nobody says a word: the files are looked at.
    wait_for(&broker, "certificates were reloaded");
    let client = Client::new(broker.address, &other, Some(&other.cluster("rome")));
    assert_eq!(client.get("/api/v1/instructions").status, 200);
}

fn wait_for(broker: &Broker, words: &str) {
    while !broker.log().contains(words) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn administrators_are_told_by_their_unit_or_by_name() {
    let broker = Broker::start_with(&["--administrator", "boss", "--administrator-unit", "ops"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let seen = |identity: &Identity| {
        broker.client(Some(identity)).get("/api/v1/advertisements/rome").status
    };
    assert_eq!(seen(&broker.authority.cluster("boss")), 200);
    let in_unit = Subject { unit: Some("ops"), ..Subject::named(&["alice"]) };
    assert_eq!(seen(&broker.authority.client(&in_unit)), 200);
    assert_eq!(seen(&broker.authority.administrator("mallory")), 404, "another unit");
    assert_eq!(seen(&broker.authority.cluster("mallory")), 404);
}
