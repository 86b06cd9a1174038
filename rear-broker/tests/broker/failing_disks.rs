//! Disks that are full or may not be written: a broker says so, refuses what it cannot keep, and loses nothing.
//!
//! `cargo xtask test` runs this on a file system of eight megabytes and says where in the environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rear_store::verify::verify_file;

use super::client::Client;
use super::failures::ends;
use super::pki::Authority;
use super::process::{program, started};
use super::tools::{advertise, id_of, request};

/// A folder on the small file system, with certificates.
fn place() -> (tempfile::TempDir, Authority) {
    let disk = std::env::var_os("REAR_SMALL_DISK");
    let disk: PathBuf = disk.expect("REAR_SMALL_DISK names a folder on a small file system").into();
    let place = tempfile::tempdir_in(disk).unwrap();
    let authority = Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    (place, authority)
}

fn free_bytes(folder: &Path) -> usize {
    let stat = rustix::fs::statvfs(folder).unwrap();
    usize::try_from(stat.f_bavail * stat.f_frsize).unwrap()
}

/// One after the other: they share the disk.
#[test]
fn a_disk_that_is_full_or_read_only_is_told_and_nothing_is_lost() {
    try_a_disk_that_fills_up();
    try_a_disk_without_room();
    try_a_disk_that_may_not_be_written();
}

fn try_a_disk_that_fills_up() {
    let (place, authority) = place();
    let ballast = place.path().join("ballast");
    std::fs::write(&ballast, vec![1; free_bytes(place.path()) - (2 << 20)]).unwrap();
    let (mut child, address, log) = started(&mut program(place.path(), &[]));
    let client = |name: &str| Client::new(address, &authority, Some(&authority.cluster(name)));
    advertise(&client("rome"), "rome", "1000000", "1000Ti");
    let mut connection = client("paris").connect().unwrap();
    let mut acknowledged = Vec::new();
    let refused = loop {
        let body = request("1m", "1Mi").to_string();
        let answer = connection.call("POST", "/api/v1/reservations", &[], Some(body.as_bytes()));
        let answer = answer.unwrap();
        match answer.status {
            201 => acknowledged.push(id_of(&answer.json())),
            _ => break answer,
        }
    };
    assert_eq!(refused.problem(503), "not-ready");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("No space left on device"), "{detail}");
    assert!(acknowledged.len() > 10, "{} were granted before", acknowledged.len());
    drop(connection);
    // It may try again and again, until it sees that it will not help.
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        let body = request("1m", "1Mi").to_string();
        if let Ok(mut connection) = client("paris").connect() {
            drop(connection.call("POST", "/api/v1/reservations", &[], Some(body.as_bytes())));
        }
    };
    while !log.lock().unwrap().contains("start again") {
        std::thread::yield_now();
    }
    let said = log.lock().unwrap().clone();
    assert_eq!(code, Some(74), "{said}");
    assert!(said.lines().last().unwrap().contains("No space left on device"), "{said}");
    std::fs::remove_file(&ballast).unwrap();
    let (mut child, address, _log) = started(&mut program(place.path(), &[]));
    let paris = Client::new(address, &authority, Some(&authority.cluster("paris")));
    let mut connection = paris.connect().unwrap();
    for id in &acknowledged {
        let path = format!("/api/v1/reservations/{id}");
        assert_eq!(connection.call("GET", &path, &[], None).unwrap().status, 200, "{id}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(verify_file(&place.path().join("data/ledger.redb")).unwrap().findings, []);
}

fn try_a_disk_without_room() {
    let (place, _) = place();
    let ballast = place.path().join("ballast");
    std::fs::write(&ballast, vec![1; free_bytes(place.path()) - (16 << 10)]).unwrap();
    let (code, said) = ends(place.path(), &[]);
    assert_eq!(code, 74, "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}

fn try_a_disk_that_may_not_be_written() {
    let (place, _) = place();
    for there_already in [false, true] {
        if there_already {
            let (mut child, ..) = started(&mut program(place.path(), &[]));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let plain = program(place.path(), &[]);
        // A mount of its own, which nobody else sees.
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-euc", script]).arg(place.path());
        command.arg(plain.get_program()).args(plain.get_args()).stderr(Stdio::piped());
        for (name, value) in plain.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(74), "{said}");
        assert!(said.contains("Read-only file system"), "{said}");
    }
}
