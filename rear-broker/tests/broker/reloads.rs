//! SIGHUP: what can count at once does, what cannot is named, and what is wrong changes nothing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rear_api::moment;
use serde_json::json;

use super::client::Client;
use super::counts::scrape;
use super::process::Broker;
use super::tools::{advertise, id_of, request, reserve};

/// What a broker says that has taken a new configuration.
pub(crate) const RELOADED: &str = "the configuration was reloaded";

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

    fn change(&self, text: &str, words: &str) {
        change(&self.path(), text, || self.broker.signal("HUP"), || self.broker.log(), words);
    }
}

/// Writes the file, tells the broker, and waits until it has said this once more.
pub(crate) fn change(
    file: &Path,
    text: &str,
    tell: impl Fn(),
    log: impl Fn() -> String,
    words: &str,
) {
    let said = || log().matches(words).count();
    let before = said();
    std::fs::write(file, text).unwrap();
    tell();
    while said() == before {
        thread::yield_now();
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
    reloaded.change("max-duration = \"2h\"\n", RELOADED);
    ask("2h").expect(201);
    reloaded.change("max-duration = \"3h\nx = 1", "the old configuration stays");
    assert_eq!(ask("3h").problem(422), "too-long");
    reloaded.change("requests-per-second = 1\nrequest-burst = 1\n", RELOADED);
    let answers = [paris.get("/api/v1/instructions"), paris.get("/api/v1/instructions")];
    assert_eq!(answers.map(|answer| answer.status), [200, 429]);
    // The limit of the duration is gone with its line.
    reloaded.change("", RELOADED);
    ask("9h").expect(201);
}

#[test]
fn the_limits_of_silence_count_after_a_reload() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    reloaded.change("stale-after = \"1s\"\n", RELOADED);
    // Rome says nothing more of itself; those who ask are not heard of as providers.
    while paris.post("/api/v1/reservations", &request("1m", "1Mi")).status == 201 {}
    assert_eq!(paris.post("/api/v1/reservations", &request("1m", "1Mi")).problem(409), "no-room");
    // It is back when it speaks.
    reloaded.change("stale-after = \"1h\"\n", RELOADED);
    advertise(&rome, "rome", "8", "16Gi");
    let kept = id_of(&reserve(&paris, "1m", "1Mi"));
    let phase = || {
        let shown = rome.get(&format!("/api/v1/reservations/{kept}")).expect(200);
        shown["status"]["phase"].as_str().unwrap().to_owned()
    };
    assert_eq!(phase(), "Reserved");
    reloaded.change("requester-gone-after = \"1s\"\n", RELOADED);
    while phase() != "Released" {
        thread::yield_now();
    }
}

#[test]
fn the_duration_of_those_who_name_none_counts_after_a_reload() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let promised = || {
        let status = &reserve(&paris, "1m", "1Mi")["status"];
        let moment = |name: &str| moment::read(status[name].as_str()?).ok();
        Some(moment("expiresAt")?.since(moment("reservedAt")?).to_string())
    };
    assert_eq!(promised(), None);
    reloaded.change("default-duration = \"90m\"\n", RELOADED);
    assert_eq!(promised().as_deref(), Some("1h30m0s"));
}

/// How a client is answered that wants everything since a state.
pub(crate) fn follow(client: &Client, since: &str) -> u16 {
    let mut stream = client.connect().unwrap();
    let last = [("Last-Event-ID", &*format!("{since}-0"))];
    stream.begin("GET", "/api/v1/events", &last, None).unwrap();
    stream.head().unwrap().0
}

#[test]
fn how_much_may_be_kept_counts_after_a_reload() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    reserve(&paris, "1m", "1Mi");
    reloaded.change("max-reservations = 1\n", RELOADED);
    let refused = paris.post("/api/v1/reservations", &request("1m", "1Mi"));
    assert_eq!(refused.problem(409), "too-many-reservations");
    let seen = paris.get("/api/v1/instructions").header("rear-revision").unwrap().to_owned();
    assert_eq!(follow(&paris, &seen), 200, "everything since then is there");
    reloaded.change("events-kept = 1\n", RELOADED);
    // What is too much goes with what comes.
    let oslo = broker.cluster("oslo");
    while follow(&paris, &seen) != 410 {
        reserve(&oslo, "1m", "1Mi");
    }
}

#[test]
fn what_is_told_of_others_changes_with_a_reload() {
    let reloaded = Reloaded::start("");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let told = || {
        let refused = paris.post("/api/v1/reservations", &request("100", "1Gi")).expect(409);
        (refused.to_string().contains("rome"), scrape(broker).contains("rome"))
    };
    assert_eq!(told(), (true, false));
    reloaded.change("hide-names = true\nmetrics-per-cluster = true\n", RELOADED);
    assert_eq!(told(), (false, true));
    reloaded.change("", RELOADED);
    assert_eq!(told(), (true, false));
}

#[test]
fn a_file_that_is_gone_for_a_moment_takes_nothing_back() {
    let reloaded = Reloaded::start("max-duration = \"1h\"\n");
    let broker = &reloaded.broker;
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    std::fs::remove_file(reloaded.path()).unwrap();
    broker.signal("HUP");
    while !broker.log().contains("the old configuration stays") {
        thread::yield_now();
    }
    let mut asked = request("1m", "1Mi");
    asked["duration"] = json!("2h");
    assert_eq!(
        broker.cluster("paris").post("/api/v1/reservations", &asked).problem(422),
        "too-long"
    );
}

#[test]
fn what_needs_a_restart_is_named_and_stays_as_it_was() {
    let reloaded = Reloaded::start("");
    let words = "these count after a restart keys=\"http-port\"";
    // The environment says otherwise: nothing changes.
    reloaded.change("http-port = 1\n", RELOADED);
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
    reloaded.change("log-level = \"debug\"\n", RELOADED);
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
            reloaded.change(&format!("stale-after = \"{round}h\"\n"), RELOADED);
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
