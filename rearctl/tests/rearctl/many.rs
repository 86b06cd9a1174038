//! Ten thousand clusters and a hundred thousand reservations: page by page, with bounded memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::between::Between;
use super::pictures::compare;
use super::program::Ctl;
use super::stage::{Stage, until};

const CLUSTERS: u64 = 10_000;
const RESERVATIONS: u64 = 100_000;

/// The large fleet, which no test changes: made once for all who look at it at a time, and gone with the last of them.
fn large() -> Arc<Stage> {
    static LARGE: Mutex<Weak<Stage>> = Mutex::new(Weak::new());
    let mut shared = LARGE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stage) = shared.upgrade() {
        return stage;
    }
    // However slow the machine is, nobody becomes silent in between.
    let stage = Stage::prepared(&["--stale-after", "24h"]);
    super::ledger::fill(&stage.path("data"), CLUSTERS, RESERVATIONS);
    stage.serve();
    let stage = Arc::new(stage);
    *shared = Arc::downgrade(&stage);
    stage
}

fn counted(stage: &Stage, arguments: &[&str]) -> (String, Vec<String>) {
    let between = Between::before(stage, |_, _| {});
    let ctl = Ctl::new(stage.folder.path(), arguments);
    let out = ctl.to(&between.url(), &stage.certificates("admin")).out();
    (out, between.requests())
}

#[test]
fn the_first_page_is_one_request_for_as_many_as_are_shown() {
    let stage = large();
    let (out, requests) = counted(&stage, &["clusters", "list", "--limit", "20"]);
    assert_eq!(out.lines().count(), 21);
    assert_eq!(requests, ["GET /api/v1/advertisements?limit=20"]);
    let (out, requests) = counted(&stage, &["reservations", "list", "--limit", "3", "-o", "name"]);
    assert_eq!(out.lines().count(), 3);
    assert_eq!(requests, ["GET /api/v1/reservations?limit=3"]);
}

#[test]
fn a_whole_list_is_one_request_for_each_page_and_has_everyone_once() {
    let stage = large();
    let (out, requests) = counted(&stage, &["clusters", "list", "-o", "name"]);
    assert_eq!(requests.len(), 20);
    let names: std::collections::BTreeSet<&str> = out.lines().collect();
    assert_eq!((names.len(), out.lines().count()), (10_000, 10_000));
    let (out, requests) =
        counted(&stage, &["reservations", "list", "-o", "name", "--chunk-size", "1000"]);
    assert_eq!(requests.len(), 100);
    assert_eq!(out.lines().collect::<std::collections::BTreeSet<_>>().len(), 100_000);
}

#[test]
fn a_limit_that_is_no_multiple_of_a_page_asks_for_no_page_too_many() {
    let stage = large();
    let (out, requests) = counted(&stage, &["clusters", "list", "-o", "name", "--limit", "1200"]);
    assert_eq!((out.lines().count(), requests.len()), (1200, 3));
}

#[test]
fn memory_does_not_grow_with_the_list() {
    let stage = large();
    let (mut child, out) = stage.admin(&["reservations", "list"]).start_unread();
    let mut lines = BufReader::with_capacity(4096, out).lines().map(Result::unwrap);
    let mut after = |rows: usize| {
        assert_eq!(lines.by_ref().take(rows).count(), rows);
        peak_memory(&child)
    };
    // The pipe is full and the rest of the list is to come: the program is in the middle of it.
    let (early, late) = (after(10_000), after(80_000));
    assert!(late < early + 4096, "{early} KiB after 10 000 rows, {late} KiB after 90 000");
    drop(lines);
    until("its end", || child.try_wait().unwrap());
}

/// The most memory that a process has had, in KiB.
fn peak_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_large_fleet_looks_like_this() {
    let stage = large();
    let (clusters, _) = counted(&stage, &["clusters", "list", "--limit", "12", "-o", "wide"]);
    compare("large-clusters-wide", &clusters);
    let (reservations, _) = counted(&stage, &["reservations", "list", "--limit", "12"]);
    compare("large-reservations", &reservations);
    let (top, requests) = counted(&stage, &["top", "--sort", "cpu"]);
    assert_eq!(requests.len(), 10);
    // The broker's address differs from run to run.
    let lines = top.lines().take(14).skip(1).map(|line| format!("{line}\n"));
    compare("large-top", &lines.collect::<String>());
}

#[test]
fn the_doctor_reads_all_books_of_a_large_fleet() {
    let told = large().admin(&["check", "-o", "json"]).run();
    let findings: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let of = |check: &str| {
        findings
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["check"] == check)
            .unwrap()
            .clone()
    };
    assert_eq!(of("fleet")["found"], "10000 clusters are seen");
    assert_eq!(of("ledger")["found"], "what is reserved is the sum of 100000 live reservations");
    assert_eq!(of("available")["verdict"], "good");
}
