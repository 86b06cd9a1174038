//! An etcd that lets in whom it knows: TLS, certificates of clients, users with passwords.

use std::net::SocketAddr;
use std::path::Path;

use rear_testbed::{Etcd, EtcdCertificates, Members};

use crate::client::Client;
use crate::pki::Authority;
use crate::process::{program, signal, started};
use crate::tools::{advertise, reserve};

/// "/rear/" and what comes after everything that begins with it, as the gateway writes bytes.
const PREFIX: (&str, &str) = ("L3JlYXIv", "L3JlYXIw");

/// An etcd with users, of which `rear` may use what is below `/rear/`.
fn guarded(folder: &Path, authority: &Authority) -> Etcd {
    let files = folder.join("etcd");
    authority.node().write(&files, authority);
    let file = |name: &str| files.join(name);
    let (certificate, key, clients) = (file("tls.crt"), file("tls.key"), file("ca.crt"));
    let certificates = EtcdCertificates { certificate, key, clients };
    let etcd = Etcd::start_secured(Members::One, &certificates).unwrap();
    let address: SocketAddr = etcd.endpoints()[0].trim_start_matches("https://").parse().unwrap();
    let operator = Client::new(address, authority, Some(&authority.cluster("operator")));
    let (from, to) = PREFIX;
    let permission = format!(
        r#"{{"name":"rear","perm":{{"permType":"READWRITE","key":"{from}","range_end":"{to}"}}}}"#
    );
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"of-the-root"}"#),
        ("role/add", r#"{"name":"root"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/add", r#"{"name":"rear","password":"of-the-broker"}"#),
        ("role/add", r#"{"name":"rear"}"#),
        ("role/grant", &permission),
        ("user/grant", r#"{"user":"rear","role":"rear"}"#),
        ("enable", "{}"),
    ] {
        let head = format!(
            "POST /v3/auth/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = operator.connect().unwrap();
        connection.send(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let answer = connection.answer().unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    }
    etcd
}

#[test]
fn a_broker_shows_etcd_its_certificate_and_says_its_name_and_password() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, stranger) = (Authority::new(), Authority::new());
    let etcd = guarded(folder.path(), &authority);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, wrong) = (write("right", "of-the-broker\n"), write("wrong", "of-nobody\n"));
    let certificates = |name: &str| folder.path().join(name);
    authority.cluster("broker-a").write(&certificates("known"), &authority);
    stranger.cluster("broker-a").write(&certificates("strange"), &authority);
    authority.cluster("broker-a").write(&certificates("mistrusting"), &stranger);
    std::fs::create_dir(certificates("nameless")).unwrap();
    std::fs::write(certificates("nameless").join("ca.crt"), &authority.certificate).unwrap();
    let flags = |certificates: &str, password: &str| {
        [
            "--store=etcd".to_owned(),
            format!("--etcd-endpoints={}", etcd.endpoints()[0]),
            format!("--etcd-cert-path={}", folder.path().join(certificates).display()),
            "--etcd-user=rear".to_owned(),
            format!("--etcd-password-file={password}"),
        ]
    };
    authority.server().write(&folder.path().join("certs"), &authority);
    for (certificates, password) in
        [("strange", &right), ("nameless", &right), ("mistrusting", &right), ("known", &wrong)]
    {
        let output = program(folder.path(), &flags(certificates, password)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{certificates}: {said}");
        assert!(said.contains("etcd cannot be reached, or refuses"), "{certificates}: {said}");
    }
    for round in 0..2 {
        let (mut child, address, _) = started(&mut program(folder.path(), &flags("known", &right)));
        let client = |name: &str| Client::new(address, &authority, Some(&authority.cluster(name)));
        advertise(&client("rome"), "rome", "8", "16Gi");
        reserve(&client("paris"), "1", "1Gi");
        let there = client("paris").get("/api/v1/reservations").expect(200);
        assert_eq!(there.as_array().unwrap().len(), round + 1);
        signal(&child, "TERM");
        assert!(child.wait().unwrap().success());
    }
}
