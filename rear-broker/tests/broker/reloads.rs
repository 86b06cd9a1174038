//! SIGHUP: what can count at once does, what cannot is named, and what is wrong changes nothing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use super::process::Broker;
use super::tools::{advertise, request};

/// A broker with a file that can be changed.
struct Reloaded {
    broker: Broker,
    file: tempfile::TempDir,
}

impl Reloaded {
    fn start(text: &str) -> Self {
        let file = tempfile::tempdir().unwrap();
        std::fs::write(file.path().join("broker.toml"), text).unwrap();
        let path = file.path().join("broker.toml").display().to_string();
        Self { broker: Broker::start_with(&["--config", &path]), file }
    }

    fn path(&self) -> PathBuf {
        self.file.path().join("broker.toml")
    }

    /// Writes the file, and waits until the broker has said this once more.
    fn change(&self, text: &str, words: &str) {
        let said = || self.broker.log().matches(words).count();
        let before = said();
        std::fs::write(self.path(), text).unwrap();
        self.broker.signal("HUP");
        while said() == before {
            thread::yield_now();
        }
    }
}

#[test]
fn durations_and_rates_count_after_a_reload_and_a_broken_file_changes_nothing() {
    let reloaded = Reloaded::start("max-duration = \"1h\"\n");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let ask = |duration: &str| {
        let mut asked = request("1m", "1Mi");
        asked["duration"] = json!(duration);
        paris.post("/api/v1/reservations", &asked)
    };
    assert_eq!(ask("2h").problem(422), "too-long");
    reloaded.change("max-duration = \"2h\"\n", "the configuration was reloaded");
    ask("2h").expect(201);
    reloaded.change("max-duration = \"3h\nx = 1", "the old configuration stays");
    assert_eq!(ask("3h").problem(422), "too-long");
    reloaded
        .change("requests-per-second = 1\nrequest-burst = 1\n", "the configuration was reloaded");
    let answers = [paris.get("/api/v1/instructions"), paris.get("/api/v1/instructions")];
    assert_eq!(answers.map(|answer| answer.status), [200, 429]);
    // The limit of the duration is gone with its line.
    reloaded.change("", "the configuration was reloaded");
    ask("9h").expect(201);
}

#[test]
fn what_needs_a_restart_is_named_and_stays_as_it_was() {
    let reloaded = Reloaded::start("");
    let words = "these count after a restart keys=\"http-port\"";
    // The environment says otherwise: nothing changes.
    reloaded.change("http-port = 1\n", "the configuration was reloaded");
    assert!(!reloaded.broker.log().contains("after a restart"));
    reloaded.change("strategy = \"binpack\"\n", "these count after a restart keys=\"strategy\"");
    assert!(!reloaded.broker.log().contains(words));
    // It is named until the restart comes.
    reloaded.change("strategy = \"binpack\"\n", "these count after a restart keys=\"strategy\"");
}

#[test]
fn the_level_of_the_log_counts_after_a_reload() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    let paris = broker.cluster("paris");
    let seen = paris.get("/api/v1/instructions").header("x-request-id").unwrap().to_owned();
    reloaded.change("log-level = \"debug\"\n", "the configuration was reloaded");
    let told = paris.get("/api/v1/instructions").header("x-request-id").unwrap().to_owned();
    while !broker.log().contains(&told) {
        thread::yield_now();
    }
    assert!(!broker.log().contains(&seen));
}

#[test]
fn nobody_is_lost_while_certificates_and_configuration_change() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "100000", "100Ti");
    let paris = broker.cluster("paris");
    let (enough, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let body = request("1m", "1Mi").to_string();
                while !enough.load(Ordering::SeqCst) {
                    // Some on a connection that is kept, each on a new one at times.
                    let mut connection = paris.connect().unwrap();
                    for _ in 0..20 {
                        let path = "/api/v1/reservations";
                        let answer = connection.call("POST", path, &[], Some(body.as_bytes()));
                        answer.unwrap().expect(201);
                        made.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        for round in 1..=5 {
            let before = made.load(Ordering::SeqCst);
            broker.authority.server().write(&broker.certificates(), &broker.authority);
            reloaded
                .change(&format!("stale-after = \"{round}h\"\n"), "the configuration was reloaded");
            while made.load(Ordering::SeqCst) < before + 100 {
                thread::yield_now();
            }
        }
        enough.store(true, Ordering::SeqCst);
    });
    while broker.log().matches("certificates were reloaded").count() < 2 {
        thread::yield_now();
    }
    let all = broker.administrator().get("/api/v1/advertisements/rome").expect(200);
    let reserved = all["resources"]["reserved"]["cpu"].as_str().unwrap().to_owned();
    let millis = match reserved.strip_suffix('m') {
        Some(millis) => millis.parse().unwrap(),
        None => reserved.parse::<usize>().unwrap() * 1000,
    };
    assert_eq!(millis, made.load(Ordering::SeqCst));
}
