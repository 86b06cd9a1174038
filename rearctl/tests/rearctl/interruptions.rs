//! Broken pipes, Ctrl-C, and a broker that goes away in the middle.

use std::io::Read;

use rustix::process::Signal;

use super::between::Between;
use super::program::{Ctl, Told};
use super::stage::{Stage, idle, until};

/// A broker with so many clusters, each with a name of three digits.
fn stage(clusters: u64) -> Stage {
    let stage = Stage::prepared(&[]);
    super::ledger::fill(&stage.path("data"), clusters, 0);
    stage.serve();
    stage
}

fn through(stage: &Stage, between: &Between, arguments: &[&str]) -> Ctl {
    Ctl::new(stage.folder.path(), arguments).to(&between.url(), &stage.certificates("admin"))
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error_and_no_message() {
    // Far more than a pipe holds.
    let stage = stage(2000);
    for format in ["table", "json", "yaml", "name"] {
        let ctl = stage.admin(&["clusters", "list", "-o", format, "--chunk-size", "100"]);
        let (mut child, mut out) = ctl.start_unread();
        let mut first = [0; 100];
        out.read_exact(&mut first).unwrap();
        drop(out);
        let status = until("its end", || child.try_wait().unwrap());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn messages_that_nobody_reads_change_nothing_about_the_end() {
    let stage = stage(0);
    let wish = ["reserve", "--cpu", "1", "--memory", "1Gi"];
    for (command, code) in
        [(&["clusters", "list"][..], 0), (&wish, 2), (&["clusters", "get", "a"], 3)]
    {
        let (mut child, _out) = stage.admin(command).start_unread();
        drop(child.stderr.take());
        let status = until("its end", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(code), "{command:?}");
    }
}

#[test]
fn a_broker_that_goes_away_in_the_middle_of_a_list_is_told_and_the_list_is_not_taken_for_whole() {
    let stage = stage(30);
    let list = |format: &str| -> Told {
        let between =
            Between::before(&stage, |line, reply| reply.vanish = line.contains("cursor="));
        let arguments = ["clusters", "list", "--chunk-size", "10", "-o", format];
        through(&stage, &between, &arguments).run()
    };
    let told = list("name");
    assert_eq!((told.code, told.out.lines().count()), (5, 10), "{told:?}");
    assert!(told.err.contains("the list is incomplete: it ends after 10"), "{told:?}");
    // A program that reads JSON notices by itself.
    assert!(serde_json::from_str::<serde_json::Value>(&list("json").out).is_err());
}

#[test]
fn ctrl_c_ends_what_waits_at_once_and_cleanly() {
    let stage = stage(1);
    let between = Between::before(&stage, |_, _| {});
    between.hold(true);
    for command in [&["clusters", "list"][..], &["check"], &["top", "--once"]] {
        let running = through(&stage, &between, command).start();
        let before = between.requests().len();
        until("a request", || (between.requests().len() > before).then_some(()));
        running.signal(Signal::INT);
        let told = running.end();
        assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (130, "", ""), "{command:?}");
    }
}

#[test]
fn ctrl_c_ends_a_program_whose_reader_does_not_read() {
    let stage = stage(2000);
    let (mut child, out) = stage.admin(&["clusters", "list", "-o", "json"]).start_unread();
    // It has filled the pipe and waits.
    let pid = rustix::process::Pid::from_child(&child);
    until("a full pipe", || is_blocked(pid).then_some(()));
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let ended = until("its end", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(130));
    drop(out);
}

/// Whether some thread waits in a write to a pipe.
fn is_blocked(pid: rustix::process::Pid) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    tasks.flatten().any(|task| {
        let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
        // write is call 1 on x86-64 and 64 on aarch64; the standard output is descriptor 1.
        ["1 0x1 ", "64 0x1 "].iter().any(|write| call.starts_with(write))
    })
}

#[test]
fn a_reservation_that_is_interrupted_can_be_asked_for_again_under_its_key() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let between = Between::before(&stage, |_, _| {});
    // What kind of broker it is gets through; the answer to the reservation does not.
    let wish = ["reserve", "--cpu", "1", "--memory", "1Gi", "--on-behalf-of", "paris"];
    between.hold(true);
    let running = through(&stage, &between, &wish).start();
    until("a request", || (!between.requests().is_empty()).then_some(()));
    running.signal(Signal::INT);
    let told = running.end();
    assert_eq!((told.code, told.out.as_str()), (130, ""), "{told:?}");
    let key = told.err.split('\'').nth(1).unwrap();
    between.hold(false);
    let again = [&wish[..], &["--idempotency-key", key, "-o", "name"]].concat();
    let first = through(&stage, &between, &again).out();
    assert_eq!(through(&stage, &between, &again).out(), first);
    assert_eq!(stage.admin(&["reservations", "list", "-o", "name"]).out(), first);
}
