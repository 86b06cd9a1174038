//! `rear-broker dev`: what it prints to be pasted is executed here, in a shell, as printed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::process::signal;

/// A broker to be tried, and what it printed.
struct Tried {
    child: Child,
    said: String,
}

impl Tried {
    /// Starts it and waits until it has said what to do.
    fn start(arguments: &[&str]) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_rear-broker")), arguments)
    }

    fn start_by(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("dev").args(arguments).stdout(Stdio::piped());
        let mut tried = Self { child: command.spawn().unwrap(), said: String::new() };
        let mut lines = BufReader::new(tried.child.stdout.take().unwrap()).lines();
        while !tried.said.contains("Ctrl-C ends it") {
            let Some(line) = lines.next() else { panic!("it does not serve:\n{}", tried.said) };
            tried.said.extend([&line.unwrap(), "\n"]);
        }
        tried
    }

    /// The lines that are to be pasted.
    fn pasted(&self) -> String {
        let lines = self.said.lines().filter_map(|line| line.strip_prefix("  "));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// Where the certificates are.
    fn certificates(&self) -> PathBuf {
        let line = self.said.lines().find_map(|line| line.strip_prefix("  certs=")).unwrap();
        line.trim_matches('\'').into()
    }

    fn stop(self) {
        self.end_by("INT");
    }

    fn end_by(mut self, name: &str) {
        signal(&self.child, name);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Tried {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_trial_has_nothing_of_a_broker_that_is_operated_from_the_same_shell() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rear-broker"));
    command.env("REAR_CONFIG", "no-such-file.toml").env("REAR_HTTP_CERT_PATH", "no-such-folder");
    command.env("REAR_BROKER_INTERFACE", "http,kubernetes").env("REAR_STORE", "etcd");
    let tried = Tried::start_by(command, &["--clusters", "3", "--calm", "--http-port", "0"]);
    assert!(tried.said.contains("3 simulated clusters"), "{}", tried.said);
    try_in("sh", &tried);
    tried.stop();
}

/// Pastes lines into a shell, and returns what it says line by line.
fn paste(shell: &str, lines: &str) -> Vec<String> {
    let output = Command::new(shell).args(["-euc", lines]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn try_in(shell: &str, tried: &Tried) {
    let said = paste(shell, &tried.pasted());
    let [looked, explained, reserved, provider, requester, released, ended, counted @ ..] =
        &said[..]
    else {
        panic!("{said:#?}");
    };
    let clusters = json(looked);
    assert_eq!(clusters.as_array().unwrap().len(), 3, "{clusters}");
    let candidates = json(explained)["candidates"].as_array().unwrap().clone();
    assert!(candidates.iter().any(|one| one["fits"] == true), "{explained}");
    let made = json(reserved);
    assert_eq!(
        (&made["targetClusterID"], &made["status"]["phase"]),
        (&"paris".into(), &"Reserved".into())
    );
    for side in [provider, requester] {
        let promises = json(side);
        let promises = promises.as_array().unwrap();
        assert!(promises.iter().any(|promise| promise["id"] == made["id"]), "{side}");
    }
    let gone = json(released);
    assert_eq!((&gone["id"], &gone["status"]["phase"]), (&made["id"], &"Released".into()));
    assert!(ended.contains(made["id"].as_str().unwrap()), "{ended}");
    assert!(
        counted.iter().any(|line| line.starts_with("rear_broker_granted_total ")),
        "{counted:?}"
    );
}

#[test]
fn the_lines_that_it_prints_do_what_it_says_in_every_shell() {
    let tried = Tried::start(&["--clusters", "3", "--http-port", "0"]);
    try_in("sh", &tried);
    try_in("bash", &tried);
    let certificates = tried.certificates();
    assert!(certificates.exists());
    tried.stop();
    assert!(!certificates.parent().unwrap().exists(), "and nothing stays");
}

#[test]
fn it_ends_with_its_terminal_unless_it_was_started_to_outlive_it() {
    let few = ["--clusters", "2", "--http-port", "0"];
    // These tests may have been started to outlive their terminal themselves.
    let mut with = Command::new("env");
    with.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_rear-broker")]);
    let tried = Tried::start_by(with, &few);
    let certificates = tried.certificates();
    tried.end_by("HUP");
    assert!(!certificates.parent().unwrap().exists(), "nothing stays");
    let mut without = Command::new("nohup");
    without.arg(env!("CARGO_BIN_EXE_rear-broker"));
    let mut tried = Tried::start_by(without, &few);
    signal(&tried.child, "HUP");
    let first = tried.pasted().lines().take(2).collect::<Vec<_>>().join("\n");
    let asked = paste("sh", &format!("{first}\nas admin reservations\n"));
    assert!(!asked.is_empty() && tried.child.try_wait().unwrap().is_none(), "{asked:?}");
    tried.stop();
}

#[test]
fn clusters_that_nobody_plays_borrow_from_each_other_unless_it_is_to_be_calm() {
    let tried = Tried::start(&["--clusters", "5", "--http-port", "0"]);
    assert!(tried.said.contains("All but rome and paris borrow"), "{}", tried.said);
    // The lines mean the same as without.
    let lines: Vec<String> = tried.pasted().lines().map(str::to_owned).collect();
    let (who, function) = (&lines[0], &lines[1]);
    let ask = |what: &str| paste("sh", &format!("{who}\n{function}\n{what}\n")).join("");
    let made = until(|| {
        let made = json(&ask("as admin reservations"));
        made.as_array().unwrap().first().cloned()
    });
    for side in ["requesterID", "targetClusterID"] {
        assert!(["oslo", "milan", "turin"].contains(&made[side].as_str().unwrap()), "{made}");
    }
    for name in ["rome", "paris"] {
        assert_eq!(ask(&format!("as {name} instructions")), "[]");
    }
    tried.stop();
    let calm = Tried::start(&["--clusters", "5", "--http-port", "0", "--calm"]);
    assert!(!calm.said.contains("borrow from each other"), "{}", calm.said);
    calm.stop();
}

/// Waits until there is something.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    panic!("it never happens");
}

#[test]
fn a_data_directory_that_is_named_is_kept_and_used_again() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("it's mine");
    let start = |clusters: &str| {
        Tried::start(&[
            "--clusters",
            clusters,
            "--http-port",
            "0",
            "--data",
            data.to_str().unwrap(),
        ])
    };
    let first = start("2");
    let key = || std::fs::read(data.join("ca/ca.key")).unwrap();
    let before = key();
    first.stop();
    let second = start("3");
    try_in("sh", &second);
    second.stop();
    assert_eq!(key(), before);
    assert!(data.join("ledger.redb").exists());
}

#[test]
fn it_listens_on_this_machine_only() {
    let tried = Tried::start(&["--clusters", "2", "--http-port", "0"]);
    let sockets = listening(tried.child.id());
    assert!(sockets.len() >= 4, "{sockets:?}");
    for socket in sockets {
        assert!(
            socket.starts_with("0100007F:")
                || socket.starts_with("00000000000000000000000001000000:"),
            "{socket}"
        );
    }
}

/// The addresses on which a process listens, as the kernel shows them.
fn listening(process: u32) -> Vec<String> {
    let folder = format!("/proc/{process}");
    let opened: Vec<PathBuf> = std::fs::read_dir(format!("{folder}/fd"))
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .collect();
    let is_ours =
        |inode: &str| opened.iter().any(|path| path == Path::new(&format!("socket:[{inode}]")));
    ["tcp", "tcp6"]
        .iter()
        .flat_map(|kind| {
            let table = std::fs::read_to_string(format!("{folder}/net/{kind}")).unwrap_or_default();
            let rows: Vec<Vec<String>> = table
                .lines()
                .skip(1)
                .map(|line| line.split_whitespace().map(str::to_owned).collect())
                .collect();
            // Column 3 is the state, 0A is listening; column 9 is the inode.
            rows.into_iter()
                .filter(|row| row[3] == "0A" && is_ours(&row[9]))
                .map(|row| row[1].clone())
                .collect::<Vec<_>>()
        })
        .collect()
}
