//! `init` and `certs`: what they make is believed by OpenSSL, curl and the broker, and no longer when it is revoked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::operator::{Operator, Told};
use super::tools::advertisement;

/// Every file and folder below one, with its mode.
fn modes(folder: &Path) -> Vec<(bool, u32)> {
    let mut found = vec![mode(folder)];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.extend(if path.is_dir() { modes(&path) } else { vec![mode(&path)] });
    }
    found
}

fn mode(path: &Path) -> (bool, u32) {
    let metadata = std::fs::metadata(path).unwrap();
    (metadata.is_dir(), metadata.permissions().mode() & 0o7777)
}

fn verify(operator: &Operator, more: &[&str], certificate: &str) -> Told {
    let always = ["verify", "-x509_strict", "-CAfile", "data/ca/ca.crt"];
    operator.openssl(&[&always, more, &[certificate]].concat())
}

#[test]
fn a_new_data_directory_serves_its_administrator_at_once() {
    let operator = Operator::new();
    let said = operator.does(&["init", "--data", "data"]);
    assert!(said.contains("rear-broker serve --data data\n"), "{said}");
    let said = operator.does(&["init", "--data", "it's mine"]);
    assert!(said.contains(r"rear-broker serve --data 'it'\''s mine'"), "{said}");
    let broker = operator.serve("data");
    let seen = broker.curl(&operator.issued("admin"), "GET", "/api/v1/advertisements", None);
    assert_eq!(seen, Some((200, serde_json::json!([]))));
    broker.stop();
}

#[test]
fn what_init_makes_is_the_owners_alone() {
    let operator = Operator::initialised();
    operator.does(&["certs", "issue", "rome", "--data", "data"]);
    operator.does(&["certs", "revoke", "rome", "--data", "data"]);
    let modes = modes(&operator.path("data"));
    assert!(modes.len() > 15, "{modes:?}");
    for (is_folder, mode) in modes {
        assert_eq!(mode, if is_folder { 0o700 } else { 0o600 });
    }
}

#[test]
fn the_certificates_are_what_openssl_expects() {
    let operator = Operator::new();
    let names = ["--name", "broker.example.org", "--name", "10.0.0.7", "--name", "fd00::7"];
    operator.does(&[&["init", "--data", "data"][..], &names].concat());
    for name in ["localhost", "broker.example.org"] {
        let as_server = ["-purpose", "sslserver", "-verify_hostname", name];
        assert_eq!(verify(&operator, &as_server, "data/tls/tls.crt").code, 0, "{name}");
    }
    for address in ["127.0.0.1", "::1", "10.0.0.7", "fd00::7"] {
        let as_server = ["-purpose", "sslserver", "-verify_ip", address];
        assert_eq!(verify(&operator, &as_server, "data/tls/tls.crt").code, 0, "{address}");
    }
    let other = ["-verify_hostname", "other.example.org"];
    assert_ne!(verify(&operator, &other, "data/tls/tls.crt").code, 0);
    let admin = "data/issued/admin/tls.crt";
    let revocable = ["-purpose", "sslclient", "-crl_check", "-CRLfile", "data/tls/ca.crl"];
    assert_eq!(verify(&operator, &revocable, admin).code, 0);
    assert_ne!(verify(&operator, &["-purpose", "sslserver"], admin).code, 0);
    assert_ne!(verify(&operator, &["-purpose", "sslclient"], "data/tls/tls.crt").code, 0);
    let text = operator.openssl(&["x509", "-noout", "-text", "-in", admin]).text;
    for words in ["NIST CURVE: P-256", "CN = admin", "OU = rear-administrators", "CA:FALSE"] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let text = operator.openssl(&["x509", "-noout", "-text", "-in", "data/ca/ca.crt"]).text;
    for words in ["NIST CURVE: P-256", "CA:TRUE, pathlen:0"] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let text = operator.openssl(&["x509", "-noout", "-text", "-in", "data/tls/tls.crt"]).text;
    assert!(text.contains("NIST CURVE: P-256"), "{text}");
}

#[test]
fn nothing_is_overwritten_and_what_fails_leaves_nothing() {
    let operator = Operator::initialised();
    let key = || std::fs::read(operator.path("data/ca/ca.key")).unwrap();
    let before = key();
    let again = operator.tries(&["init", "--data", "data"]);
    assert_eq!(again.code, 73, "{again:?}");
    assert!(again.complaint.contains("data/ca exists already"), "{again:?}");
    assert_eq!(key(), before);
    // Another folder is in the way: the ones before it go again.
    std::fs::create_dir_all(operator.path("other/tls")).unwrap();
    assert_eq!(operator.tries(&["init", "--data", "other"]).code, 73);
    assert!(!operator.path("other/ca").exists());
    let issue = ["certs", "issue", "rome", "--data", "data"];
    operator.does(&issue);
    let twice = operator.tries(&issue);
    assert_eq!(twice.code, 73, "{twice:?}");
    operator.does(&[&issue[..], &["--out", "elsewhere/rome"]].concat());
    assert!(operator.path("elsewhere/rome/tls.key").exists());
    let listed = operator.does(&["certs", "list", "--data", "data"]);
    assert_eq!(listed.matches("rome").count(), 2, "{listed}");
}

#[test]
fn a_broker_without_certificates_says_how_to_make_them() {
    let operator = Operator::new();
    let told = operator.tries(&["serve", "--data", "data"]);
    assert_eq!(told.code, 78, "{told:?}");
    assert!(told.complaint.contains("rear-broker init --data data"), "{told:?}");
    assert!(!operator.path("data").exists(), "and makes no ledger");
    let told = operator.tries(&["certs", "issue", "rome", "--data", "data"]);
    assert_eq!(told.code, 78, "{told:?}");
    assert!(told.complaint.contains("`rear-broker init`"), "{told:?}");
}

#[test]
fn a_certificate_is_issued_used_revoked_and_refused() {
    let operator = Operator::initialised();
    let broker = operator.serve("data");
    for name in ["rome", "paris"] {
        operator.does(&["certs", "issue", name, "--data", "data"]);
    }
    let instructions = |name: &str| {
        let path = "/api/v1/instructions";
        broker.curl(&operator.issued(name), "GET", path, None).map(|(status, _)| status)
    };
    assert_eq!([instructions("rome"), instructions("paris")], [Some(200); 2]);
    let said = operator.does(&["certs", "revoke", "rome", "--data", "data"]);
    assert!(said.contains("of rome no longer counts"), "{said}");
    // Nobody tells the broker.
    broker.wait_for("certificates were reloaded");
    assert_eq!([instructions("rome"), instructions("paris")], [None, Some(200)]);
    let revocable = ["-crl_check", "-CRLfile", "data/tls/ca.crl"];
    let checked = verify(&operator, &revocable, "data/issued/rome/tls.crt");
    assert!(checked.complaint.contains("certificate revoked"), "{checked:?}");
    assert_eq!(verify(&operator, &revocable, "data/issued/paris/tls.crt").code, 0);
    // A new one for the same cluster counts.
    operator.does(&["certs", "issue", "rome", "--data", "data", "--out", "data/issued/again"]);
    assert_eq!(instructions("again"), Some(200));
    let listed = operator.does(&["certs", "list", "--data", "data"]);
    let states: Vec<_> = listed.lines().filter(|line| line.ends_with("rome")).collect();
    assert!(states[0].contains("revoked") && states[1].contains("valid"), "{listed}");
}

#[test]
fn one_of_several_certificates_is_revoked_by_its_serial_number() {
    let operator = Operator::initialised();
    for out in ["first", "second"] {
        operator.does(&["certs", "issue", "rome", "--data", "data", "--out", out]);
    }
    let printed = operator.openssl(&["x509", "-noout", "-serial", "-in", "first/tls.crt"]).text;
    let serial = printed.trim().strip_prefix("serial=").unwrap();
    operator.does(&["certs", "revoke", serial, "--data", "data"]);
    // As if the command had been interrupted before the list was there.
    std::fs::remove_file(operator.path("data/tls/ca.crl")).unwrap();
    let again = operator.does(&["certs", "revoke", serial, "--data", "data"]);
    assert_eq!(again, "revoked before: 1\n");
    let revocable = ["-crl_check", "-CRLfile", "data/tls/ca.crl"];
    assert_ne!(verify(&operator, &revocable, "first/tls.crt").code, 0);
    assert_eq!(verify(&operator, &revocable, "second/tls.crt").code, 0);
    for nobody in ["oslo", "rear-broker", "00ff"] {
        let told = operator.tries(&["certs", "revoke", nobody, "--data", "data"]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.complaint.contains("neither the serial number nor the name"), "{told:?}");
    }
}

#[test]
fn certificates_are_for_clusters_and_for_a_time_that_makes_sense() {
    let operator = Operator::initialised();
    let issue =
        |more: &[&str]| operator.tries(&[&["certs", "issue", "--data", "data"], more].concat());
    for name in ["Rome", "../rome", "", "-rome"] {
        assert_eq!(issue(&["--", name]).code, 2, "{name}");
    }
    let short = issue(&["rome", "--valid-for", "59s"]);
    assert!(short.code == 1 && short.complaint.contains("at least 1m0s"), "{short:?}");
    let long = issue(&["rome", "--valid-for", "100000h"]);
    assert!(long.code == 1 && long.complaint.contains("its authority only until"), "{long:?}");
    assert!(!operator.issued("rome").exists());
    assert_eq!(issue(&["rome", "--valid-for", "48h"]).code, 0);
    let ends = |seconds: &str| {
        let file = "data/issued/rome/tls.crt";
        operator.openssl(&["x509", "-noout", "-checkend", seconds, "-in", file]).code
    };
    assert_eq!([ends("172000"), ends("172801")], [0, 1]);
}

#[test]
fn an_administrator_who_was_issued_later_is_one_too() {
    let operator = Operator::initialised();
    let broker = operator.serve("data");
    operator.does(&["certs", "issue", "boss", "--administrator", "--data", "data"]);
    for cluster in ["rome", "paris"] {
        operator.does(&["certs", "issue", cluster, "--data", "data"]);
    }
    let body = advertisement("rome", "8", "16Gi");
    broker.curl(&operator.issued("rome"), "POST", "/api/v1/advertisements", Some(&body)).unwrap();
    let seen = |name: &str| {
        broker.curl(&operator.issued(name), "GET", "/api/v1/advertisements/rome", None).unwrap().0
    };
    assert_eq!(["boss", "admin", "rome", "paris"].map(seen), [200, 200, 200, 404]);
}

#[test]
fn a_key_that_is_not_the_authoritys_signs_nothing() {
    let operator = Operator::initialised();
    std::fs::copy(operator.path("data/tls/tls.key"), operator.path("data/ca/ca.key")).unwrap();
    let told = operator.tries(&["certs", "issue", "rome", "--data", "data"]);
    assert_eq!(told.code, 78, "{told:?}");
    assert!(told.complaint.contains("data/ca/ca.key is not the key of data/ca/ca.crt"), "{told:?}");
    std::fs::write(operator.path("data/ca/issued.json"), "{}").unwrap();
    let told = operator.tries(&["certs", "list", "--data", "data"]);
    assert_eq!(told.code, 78, "{told:?}");
    assert!(told.complaint.contains("does not hold a register of certificates"), "{told:?}");
}

#[test]
fn certificates_that_are_issued_at_once_are_all_in_the_register() {
    let operator = Operator::initialised();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let operator = &operator;
            let name = format!("cluster-{number}");
            scope.spawn(move || operator.does(&["certs", "issue", &name, "--data", "data"]));
        }
    });
    let listed = operator.does(&["certs", "list", "--data", "data"]);
    for number in 0..8 {
        assert!(listed.contains(&format!("cluster-{number}\n")), "{listed}");
    }
}
