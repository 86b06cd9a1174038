//! What a broker says when it cannot serve, and how it ends: the place, the reason, the remedy.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::counts::scrape;
use super::pki::Authority;
use super::process::{Broker, program};
use super::tools::{advertise, request};

/// A folder with certificates.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    place
}

/// How a broker that cannot serve ends, and what it says last: what happened, and what to do about it.
pub(crate) fn ends(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let output = program(folder, &arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(2)..].join("\n");
    (output.status.code().unwrap(), last)
}

#[test]
fn a_port_that_is_in_use_is_named_with_the_key_that_names_another() {
    let broker = Broker::start();
    let port = broker.address.port().to_string();
    let address = broker.address.to_string();
    for (key, value) in [
        ("http-port", &port),
        ("metrics-bind-address", &address),
        ("health-probe-bind-address", &address),
        ("operations-bind-address", &address),
    ] {
        let place = place();
        let (code, said) = ends(place.path(), &[&format!("--{key}"), value]);
        let expected = format!(
            "{address} cannot be listened on (the key `{key}` names another place): Address already in use"
        );
        assert_eq!(code, 69, "{said}");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_data_directory_that_serve_makes_is_its_owners_alone() {
    let broker = Broker::start();
    let data = broker.ledger().parent().unwrap().to_owned();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&data), mode(&broker.ledger())), (0o700, 0o600));
}

#[test]
fn a_data_directory_that_is_none_is_named() {
    let place = place();
    std::fs::write(place.path().join("data"), "a file").unwrap();
    let (code, said) = ends(place.path(), &[]);
    assert_eq!(code, 74, "{said}");
    assert!(
        said.contains("the data directory ") && said.contains("/data cannot be used"),
        "{said}"
    );
    std::fs::remove_file(place.path().join("data")).unwrap();
    std::fs::create_dir(place.path().join("data")).unwrap();
    std::fs::write(place.path().join("data/ledger.redb"), "not a ledger at all").unwrap();
    let (code, said) = ends(place.path(), &[]);
    assert_eq!(code, 74, "{said}");
    assert!(said.contains("ledger.redb is not a ledger, or it is damaged"), "{said}");
}

#[test]
fn an_audit_log_that_cannot_be_written_keeps_it_from_serving() {
    let place = place();
    let (code, said) = ends(place.path(), &["--audit-log", "/no/such/folder/audit.log"]);
    assert_eq!(code, 74, "{said}");
    assert!(
        said.contains(
            "the audit log cannot be opened: /no/such/folder/audit.log cannot be written"
        ),
        "{said}"
    );
    assert!(!place.path().join("data").exists(), "and no ledger is made");
}

#[test]
fn nothing_is_changed_while_the_audit_log_cannot_be_written() {
    let mut broker = Broker::start_with(&["--audit-log", "/dev/full"]);
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let refused = loop {
        let answer = paris.post("/api/v1/reservations", &request("1m", "1Mi"));
        if answer.status != 201 {
            break answer;
        }
    };
    assert_eq!(refused.problem(503), "not-ready");
    let why = "the audit log /dev/full cannot be written: No space left on device";
    let unready = paris.get("/readyz");
    assert_eq!(unready.status, 503);
    for told in [refused.body, unready.body] {
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains(why), "{told}");
    }
    assert!(scrape(&broker).contains("\nrear_broker_audit_log_stuck 1\n"));
    // More refusals than lines that may wait: nobody is kept waiting for the disk.
    let mut connection = paris.connect().unwrap();
    for _ in 0..5000 {
        let answer = connection.call("POST", "/api/v1/reservations", &[], Some(b"{")).unwrap();
        assert_eq!(answer.problem(400), "unreadable");
    }
    assert_eq!(paris.get("/healthz").status, 200);
    // What clusters say of themselves is not in it.
    advertise(&rome, "rome", "9", "16Gi");
    assert!(broker.stop().success());
    assert!(broker.log().contains("lines of the audit log were lost"));
}

#[test]
fn a_configuration_that_cannot_be_used_ends_with_its_code() {
    let place = place();
    std::fs::create_dir(place.path().join("data")).unwrap();
    std::fs::write(place.path().join("data/broker.toml"), "stale-after = \"soon\"\n").unwrap();
    let (code, said) = ends(place.path(), &[]);
    assert_eq!(code, 78, "{said}");
    assert!(
        said.contains("broker.toml, line 1: `stale-after` cannot be \"soon\": it is a duration"),
        "{said}"
    );
    std::fs::remove_file(place.path().join("data/broker.toml")).unwrap();
    let (code, said) = ends(place.path(), &["--broker-interface", "smoke"]);
    assert_eq!(code, 2, "{said}");
    let nowhere = ["--broker-interface", "kubernetes", "--kubeconfig", "/nowhere"];
    let (code, said) = ends(place.path(), &nowhere);
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("the kubeconfig /nowhere cannot be used"), "{said}");
}

#[test]
fn what_means_nothing_here_is_warned_about() {
    let broker = Broker::start_with(&["--leader-elect"]);
    assert!(broker.log().contains("leader-elect means nothing with the http interface"));
}
