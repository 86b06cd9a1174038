//! The log and the audit log: one event is one line, each line of a request names it, and who changed something is told.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};

use super::process::{Broker, apart, started};
use super::tools::{advertise, advertisement, id_of, request, reserve};

/// Every line of a file, as JSON.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until the audit log has so many lines.
fn audited(path: &Path, count: usize) -> Vec<Value> {
    while lines(path).len() < count {
        thread::yield_now();
    }
    lines(path)
}

#[test]
fn away_from_a_terminal_every_line_is_json() {
    let broker = Broker::start_with(&["--log-format", "auto", "--log-level", "debug"]);
    let id = broker
        .cluster("paris")
        .get("/api/v1/reservations/x")
        .header("x-request-id")
        .unwrap()
        .to_owned();
    while !broker.log().contains("answered") {
        thread::yield_now();
    }
    let log = broker.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines.iter().any(|line| line["message"] == "serving" && line["level"] == "INFO"),
        "{log}"
    );
    let answered = lines.iter().find(|line| line["message"] == "answered").unwrap();
    assert_eq!(answered["request"], json!(id), "{log}");
    assert_eq!(answered["path"], "/api/v1/reservations/x");
    assert_eq!(answered["status"], 404);
}

#[test]
fn what_comes_from_outside_cannot_add_a_line() {
    let place = tempfile::tempdir().unwrap();
    let authority = super::pki::Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    for format in ["text", "json"] {
        let data = place.path().join(format!("{format}\n2026 ERROR all is lost \u{1b}[2J\r"));
        let mut command = apart();
        command.args(["serve", "--log-format", format]);
        command.arg("--http-cert-path").arg(place.path().join("certs")).arg("--data").arg(data);
        let (mut child, _, log) = started(&mut command);
        child.kill().unwrap();
        child.wait().unwrap();
        let log = log.lock().unwrap().clone();
        assert!(log.contains("all is lost"), "{log}");
        assert!(!log.lines().any(|line| line.starts_with("2026 ERROR")), "{log}");
        assert!(!log.contains('\u{1b}') && !log.contains('\r'), "{log}");
    }
}

#[test]
fn whatever_is_in_an_address_every_line_is_json() {
    let broker = Broker::start_with(&["--log-format", "json"]);
    let mut nobody = broker.client(None).connect().unwrap();
    let ask = "DELETE /api/v1/reservations/\u{85} HTTP/1.1\r\nHost: x\r\n\r\n";
    nobody.send(ask.as_bytes()).unwrap();
    nobody.answer().unwrap().problem(401);
    while !broker.log().contains("no-certificate") {
        thread::yield_now();
    }
    let log = broker.log();
    assert!(!log.contains('\u{85}'), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = lines.iter().find(|line| line["code"] == "no-certificate").unwrap();
    assert_eq!(refused["object"], "\u{85}", "{log}");
}

#[test]
fn on_a_terminal_there_are_colours_and_nothing_else_that_comes_from_outside() {
    let place = tempfile::tempdir().unwrap();
    let authority = super::pki::Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let (ours, theirs) = terminal();
    let mut command = apart();
    command.env_remove("NO_COLOR").env("REAR_LOG_FORMAT", "auto").stderr(theirs);
    command.arg("serve").arg("--http-cert-path").arg(place.path().join("certs"));
    command.arg("--data").arg(place.path().join("all is lost \u{1b}[2J\u{1b}]0;mine\u{7}"));
    let mut child = command.spawn().unwrap();
    // It keeps the other end.
    drop(command);
    let mut screen = String::new();
    for line in BufReader::new(ours).lines().map_while(Result::ok) {
        screen.extend([&line, "\n"]);
        if line.contains("serving") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(screen.contains("\u{1b}[32m INFO\u{1b}[0m"), "{screen:?}");
    assert!(screen.contains("all is lost"), "{screen:?}");
    assert!(!screen.contains("\u{1b}[2J") && !screen.contains("\u{1b}]"), "{screen:?}");
    assert!(!screen.contains('\u{7}'), "{screen:?}");
}

/// A terminal: the end of whoever looks at it, and the end of a program.
fn terminal() -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
    (ours.into(), theirs.into())
}

#[test]
fn the_audit_log_has_a_line_for_each_request_that_may_change_something() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit.log");
    let broker = Broker::start_with(&["--audit-log", path.to_str().unwrap()]);
    let (rome, paris, operator) =
        (broker.cluster("rome"), broker.cluster("paris"), broker.administrator());
    advertise(&rome, "rome", "8", "16Gi");
    rome.post("/api/v1/advertisements", &advertisement("oslo", "8", "16Gi")).problem(403);
    let answer = paris.post("/api/v1/reservations", &request("1", "1Gi"));
    let id = id_of(&answer.expect(201));
    paris.post("/api/v1/reservations?dryRun=true", &request("1", "1Gi")).expect(200);
    paris.get(&format!("/api/v1/reservations/{id}")).expect(200);
    paris.call("POST", &format!("/api/v1/reservations/{id}/activate"), None).expect(200);
    paris.post("/api/v1/reservations", &request("100", "1Gi")).problem(409);
    let mut for_oslo = request("1", "1Gi");
    for_oslo["onBehalfOf"] = json!("oslo");
    let on_behalf = id_of(&operator.post("/api/v1/reservations", &for_oslo).expect(201));
    for_oslo["requestedResources"]["cpu"] = json!("100");
    operator.post("/api/v1/reservations", &for_oslo).problem(409);
    rome.delete(&format!("/api/v1/reservations/{id}")).problem(403);
    operator.delete(&format!("/api/v1/reservations/{id}")).expect(200);
    operator.delete("/api/v1/advertisements/rome").expect(200);
    broker.client(None).delete("/api/v1/reservations/rsv-1").problem(401);
    let told = audited(&path, 10);
    let shown: Vec<_> = told
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
            let object = text("object").replace(&id, "ID").replace(&on_behalf, "OTHER");
            let status = line["status"].as_u64().unwrap();
            format!("{} {} {object} {status} {}", text("by"), text("action"), text("code"))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "rome advertise - 403 other-cluster",
            "paris reserve ID 201 -",
            "paris activate ID 200 -",
            "paris reserve - 409 no-room",
            "operator reserve OTHER 201 -",
            "operator reserve - 409 no-room",
            "rome release ID 403 not-allowed",
            "operator release ID 200 -",
            "operator forget rome 200 -",
            "- release rsv-1 401 no-certificate",
        ]
    );
    assert_eq!(told[1]["request"], answer.header("x-request-id").unwrap());
    assert_eq!([&told[4]["onBehalfOf"], &told[5]["onBehalfOf"]], ["oslo", "oslo"]);
    let administrators: Vec<_> = told.iter().map(|line| line["administrator"] == true).collect();
    assert_eq!(administrators, [false, false, false, false, true, true, false, true, true, false]);
    assert!(told.iter().all(|line| line["at"].as_str().unwrap().starts_with("20")));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_changed_is_told_also_if_whoever_asked_has_gone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit.log");
    let broker = Broker::start_with(&["--audit-log", path.to_str().unwrap()]);
    advertise(&broker.cluster("rome"), "rome", "100", "100Gi");
    let paris = broker.cluster("paris");
    let made: Vec<String> = (0..20).map(|_| id_of(&reserve(&paris, "1", "1Gi"))).collect();
    let live = |id: &String| {
        paris.get(&format!("/api/v1/reservations/{id}")).json()["status"]["phase"] == "Reserved"
    };
    // A request that was never read is none: if all are, those who ask go a little later.
    let mut patience = std::time::Duration::ZERO;
    let released = loop {
        for id in &made {
            let mut hasty = paris.connect().unwrap();
            let ask = format!("DELETE /api/v1/reservations/{id} HTTP/1.1\r\nHost: x\r\n\r\n");
            hasty.send(ask.as_bytes()).unwrap();
            thread::sleep(patience);
        }
        let mut seen = 0;
        while lines(&path).len() != seen {
            seen = lines(&path).len();
            thread::sleep(std::time::Duration::from_millis(300));
        }
        match made.iter().filter(|id| !live(id)).count() {
            0 => patience += std::time::Duration::from_millis(1),
            some => break some,
        }
    };
    assert_eq!(lines(&path).len(), made.len() + released);
}

#[test]
fn nobody_fills_the_audit_log_without_a_certificate() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit.log");
    let broker = Broker::start_with(&["--audit-log", path.to_str().unwrap()]);
    let nobody = broker.client(None);
    for _ in 0..1500 {
        nobody.delete("/api/v1/reservations/rsv-1").problem(401);
    }
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    // What is changed is told all the same, however much that is.
    let (paris, many) = (broker.cluster("paris"), 40);
    (0..many).for_each(|_| drop(reserve(&paris, "1m", "1Mi")));
    let of_paris = || lines(&path).into_iter().filter(|line| line["by"] == "paris").count();
    while of_paris() < many {
        thread::yield_now();
    }
    let strangers = lines(&path).len() - many;
    assert!((1000..1400).contains(&strangers), "{strangers}");
}

#[test]
fn an_audit_log_that_was_moved_away_is_made_anew_and_nothing_is_lost() {
    let place = tempfile::tempdir().unwrap();
    let (path, moved) = (place.path().join("audit.log"), place.path().join("audit.log.1"));
    let broker = Broker::start_with(&["--audit-log", path.to_str().unwrap()]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    reserve(&paris, "1", "1Gi");
    std::fs::rename(&path, &moved).unwrap();
    reserve(&paris, "1", "1Gi");
    broker.signal("HUP");
    while !path.exists() {
        thread::yield_now();
    }
    reserve(&paris, "1", "1Gi");
    assert_eq!((audited(&moved, 2).len(), audited(&path, 1).len()), (2, 1));
    assert!(!broker.log().contains("panicked"), "{}", broker.log());
}

#[test]
fn without_a_file_the_audit_is_in_the_log_and_can_be_left_out() {
    let says = |level: &str| {
        let level = format!("info,{level}");
        let mut broker = Broker::start_with(&["--log-level", &level]);
        advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
        let id = id_of(&reserve(&broker.cluster("paris"), "1", "1Gi"));
        assert!(broker.stop().success());
        while !broker.log().contains(" stopped") {
            thread::yield_now();
        }
        let log = broker.log();
        log.lines().any(|line| line.contains(" audit: ") && line.contains(&id))
    };
    assert!(says("audit=info"));
    assert!(!says("audit=off"));
}
