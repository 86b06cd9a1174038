//! What an operator's own tools say: systemd of the unit, promtool of the metrics, a clock that is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use super::client::Client;
use super::clock::Clock;
use super::counts::scrape;
use super::pki::Authority;
use super::process::{Broker, program, signal, started};
use super::reloads::{RELOADED, change, follow};
use super::tools::{advertise, id_of, request, reserve};

/// The most that `systemd-analyze security` may find open, in tenths: network and local sockets are what it is for.
const MOST_EXPOSURE: &str = "12";

fn unit() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd/rear-broker.service")
}

/// The unit as it would be installed, with the program where it is here.
fn installed(place: &Path) -> PathBuf {
    let text = std::fs::read_to_string(unit()).unwrap();
    let path = place.join("rear-broker.service");
    std::fs::write(&path, text.replace("/usr/bin/rear-broker", env!("CARGO_BIN_EXE_rear-broker")))
        .unwrap();
    path
}

fn analyze(words: &[&str], unit: &Path) -> Output {
    let output = Command::new("systemd-analyze").args(words).arg(unit).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit_and_little_that_is_open() {
    let place = tempfile::tempdir().unwrap();
    let unit = installed(place.path());
    let verified = analyze(&["verify"], &unit);
    assert!(verified.stderr.is_empty(), "{verified:?}");
    let threshold = format!("--threshold={MOST_EXPOSURE}");
    analyze(&["security", "--offline=true", "--no-pager", &threshold], &unit);
}

#[test]
fn the_commands_of_the_unit_are_commands_of_the_program() {
    let place = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd/broker.toml");
    let text = std::fs::read_to_string(unit()).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStartPre=/usr/bin/rear-broker "))
        .unwrap();
    let words: Vec<_> = line.split(' ').collect();
    let data = place.path().join("data");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rear-broker"));
    let words =
        words.into_iter().map(|word| word.replace("/etc/rear/broker.toml", file.to_str().unwrap()));
    let output = command.args(words).env("REAR_DATA", data).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    let broker = Broker::start_with(&["--metrics-per-cluster"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    reserve(&broker.cluster("paris"), "1", "1Gi");
    broker.cluster("paris").post("/api/v1/reservations", &request("100", "1Gi")).problem(409);
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(scrape(&broker).as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.is_empty(), "{told}");
}

#[test]
fn a_clock_that_jumped_stops_grants_until_an_administrator_has_looked() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let clock = Clock::new(place.path());
    let mut command = program(place.path(), &[]);
    let (mut child, address, log) = started(command.envs(clock.environment()));
    let client = |identity| Client::new(address, &authority, Some(&identity));
    let (rome, paris) = (client(authority.cluster("rome")), client(authority.cluster("paris")));
    let operator = client(authority.administrator("operator"));
    advertise(&rome, "rome", "8", "16Gi");
    reserve(&paris, "1", "1Gi");
    clock.set("+1h");
    while paris.get("/readyz").status == 200 {
        thread::yield_now();
    }
    let unready = paris.get("/readyz");
    assert_eq!(unready.header("retry-after"), Some("1"));
    let why = String::from_utf8(unready.body).unwrap();
    assert!(why.starts_with("the clock jumped ahead by "), "{why}");
    let refused = paris.post("/api/v1/reservations", &request("1", "1Gi"));
    assert_eq!(refused.problem(503), "not-ready");
    operator.call("POST", "/api/v1/clock/confirm", None).expect(200);
    assert_eq!(paris.get("/readyz").status, 200);
    // An hour has passed without a word of it.
    assert_eq!(paris.post("/api/v1/reservations", &request("1", "1Gi")).problem(409), "no-room");
    advertise(&rome, "rome", "8", "16Gi");
    reserve(&paris, "1", "1Gi");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(log);
}

#[test]
fn how_long_something_is_remembered_counts_after_a_reload() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let file = place.path().join("broker.toml");
    std::fs::write(&file, "").unwrap();
    let clock = Clock::new(place.path());
    let mut command = program(place.path(), &["--config".to_owned(), file.display().to_string()]);
    let (mut child, address, log) = started(command.envs(clock.environment()));
    let client = |identity| Client::new(address, &authority, Some(&identity));
    let (rome, paris) = (client(authority.cluster("rome")), client(authority.cluster("paris")));
    advertise(&rome, "rome", "8", "16Gi");
    let promise = format!("/api/v1/reservations/{}", id_of(&reserve(&paris, "1", "1Gi")));
    paris.delete(&promise).expect(200);
    let seen = paris.get("/api/v1/instructions").header("rear-revision").unwrap().to_owned();
    advertise(&rome, "rome", "9", "16Gi");
    clock.set("+30h");
    while paris.get("/readyz").status == 200 {
        thread::yield_now();
    }
    let operator = client(authority.administrator("operator"));
    operator.call("POST", "/api/v1/clock/confirm", None).expect(200);
    // Whatever thirty hours bring about has been brought about with the next grant.
    advertise(&rome, "rome", "8", "16Gi");
    reserve(&paris, "1", "1Gi");
    assert_eq!((paris.get(&promise).status, follow(&rome, &seen)), (200, 200));
    let log = || log.lock().unwrap().clone();
    let text = "ended-kept-for = \"24h\"\nevents-kept-for = \"24h\"\n";
    change(&file, text, || signal(&child, "HUP"), log, RELOADED);
    while (paris.get(&promise).status, follow(&rome, &seen)) != (404, 410) {
        reserve(&paris, "1m", "1Mi");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A broker whose wall clock is faked; the clock that cannot be set stays.
fn faked(folder: &Path, clock: &str) -> Command {
    let plain = program(folder, &[]);
    let mut command = Command::new("faketime");
    command
        .args(["--exclude-monotonic", "-f", clock])
        .arg(plain.get_program())
        .args(plain.get_args());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stderr(Stdio::piped());
    command
}

#[test]
fn a_broker_whose_clock_was_never_set_says_so_and_makes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    let output = faked(place.path(), "@1970-01-02 00:00:07").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(71), "{told}");
    assert!(told.contains("the clock of this machine shows 1970-01-0"), "{told}");
    assert!(told.contains("set it"), "{told}");
    assert!(!place.path().join("data").exists());
}

#[test]
fn no_authority_is_made_by_a_clock_that_was_never_set() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let output = Command::new("faketime")
        .args(["-f", "@1970-01-02 00:00:07", env!("CARGO_BIN_EXE_rear-broker"), "init", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(71), "{told}");
    assert!(told.contains("the clock of this machine shows 1970-01-0"), "{told}");
    assert!(!data.exists());
}
