//! `verify`, `snapshot` and `compact`: on the ledger of a real broker, with real damage.

use serde_json::{Value, json};

use super::operator::{Operator, Served};
use super::tools::{advertisement, request};

/// Written in one record of the ledger only.
const RARE: &str = "the-eternal-city";

fn advertise(operator: &Operator, broker: &Served, more: &Value) -> (u16, Value) {
    let mut body = advertisement("rome", "8", "16Gi");
    body["clusterName"] = json!(RARE);
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    broker.curl(&operator.issued("rome"), "POST", "/api/v1/advertisements", Some(&body)).unwrap()
}

fn reserve(operator: &Operator, broker: &Served) -> (u16, Value) {
    let body = request("2", "4Gi");
    broker.curl(&operator.issued("paris"), "POST", "/api/v1/reservations", Some(&body)).unwrap()
}

/// A broker that has promised something.
fn serving() -> (Operator, Served) {
    let operator = Operator::initialised();
    for name in ["rome", "paris"] {
        operator.does(&["certs", "issue", name, "--data", "data"]);
    }
    let broker = operator.serve("data");
    assert_eq!(advertise(&operator, &broker, &json!({})).0, 200);
    assert_eq!(reserve(&operator, &broker).0, 201);
    (operator, broker)
}

fn stopped() -> Operator {
    let (operator, broker) = serving();
    broker.stop();
    operator
}

fn plant_damage(operator: &Operator) {
    let path = operator.path("data/ledger.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    let rare = |at: &usize| bytes[*at..].starts_with(RARE.as_bytes());
    let places: Vec<usize> = (0..bytes.len()).filter(rare).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn a_sound_ledger_is_said_to_be_sound_and_is_not_changed() {
    let operator = stopped();
    let before = std::fs::read(operator.path("data/ledger.redb")).unwrap();
    let said = operator.does(&["verify", "--data", "data"]);
    assert!(said.contains("2 advertisements") && said.contains("1 reservations"), "{said}");
    assert!(said.ends_with("all is well\n"), "{said}");
    assert!(std::fs::read(operator.path("data/ledger.redb")).unwrap() == before);
}

#[test]
fn a_flipped_bit_is_found_and_nothing_damaged_is_saved() {
    let operator = stopped();
    plant_damage(&operator);
    let told = operator.tries(&["verify", "--data", "data"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.text.contains("table advertisements, row rome"), "{told:?}");
    let told = operator.tries(&["snapshot", "save", "saved", "--data", "data"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.text.contains("nothing was saved"), "{told:?}");
    assert!(!operator.path("saved").exists());
}

#[test]
fn a_ledger_that_is_in_use_or_not_there_is_left_alone() {
    let (operator, broker) = serving();
    for command in [&["verify"][..], &["snapshot", "save", "saved"], &["compact"]] {
        for (data, words) in [("data", "is in use"), ("nowhere", "there is no ledger at")] {
            let told = operator.tries(&[command, &["--data", data]].concat());
            assert_eq!(told.code, 74, "{command:?}: {told:?}");
            assert!(told.complaint.contains(words), "{command:?}: {told:?}");
        }
    }
    let told = operator.tries(&["snapshot", "save", "saved", "--data", "data"]);
    assert!(told.complaint.contains("or stop it first"), "{told:?}");
    assert!(!operator.path("saved").exists());
    // What it says to do works, at the port that this broker has.
    let command = told.complaint.split('`').nth(1).unwrap();
    let port = broker.address.port().to_string();
    let words: Vec<String> =
        command.split(' ').skip(1).map(|word| word.replace("8443", &port)).collect();
    let said = operator.does(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.starts_with("saved: "), "{said}");
    assert_eq!(reserve(&operator, &broker).0, 201, "the broker has not noticed");
}

#[test]
fn a_restored_ledger_grants_nothing_before_its_providers_have_spoken() {
    let operator = stopped();
    operator.does(&["snapshot", "save", "saved", "--data", "data"]);
    let seen = operator.does(&["snapshot", "inspect", "saved"]);
    assert!(seen.contains("a whole snapshot") && seen.contains("1 reservations"), "{seen}");
    let said = operator.does(&["snapshot", "restore", "saved", "--data", "elsewhere"]);
    assert!(said.contains("2 clusters and 1 reservations are restored"), "{said}");
    assert!(said.contains("every provider is recovering"), "{said}");
    operator.does(&["verify", "--data", "elsewhere"]);
    assert_eq!(operator.tries(&["serve", "--data", "elsewhere"]).code, 78, "no certificates");
    std::fs::rename(operator.path("data/tls"), operator.path("elsewhere/tls")).unwrap();
    let broker = operator.serve("elsewhere");
    let (status, refused) = reserve(&operator, &broker);
    assert_eq!(
        (status, &refused["candidates"][0]["reason"]),
        (409, &json!("recovering")),
        "{refused}"
    );
    let (_, told) = advertise(&operator, &broker, &json!({"holding": []}));
    assert_eq!(told["advertisement"]["resources"]["reserved"]["cpu"], "2", "{told}");
    assert_eq!(reserve(&operator, &broker).0, 201);
}

/// How a broker that runs is reached as an administrator.
fn reach(operator: &Operator, broker: &Served) -> [String; 4] {
    let url = format!("https://localhost:{}", broker.address.port());
    let certificates = operator.issued("admin").display().to_string();
    ["--url".to_owned(), url, "--certificates".to_owned(), certificates]
}

#[test]
fn a_running_broker_is_saved_by_its_administrator_and_by_nobody_else() {
    let (operator, broker) = serving();
    let reach = reach(&operator, &broker);
    let save = |file: &str, reach: &[String]| {
        let words = ["snapshot", "save", file].into_iter().chain(reach.iter().map(String::as_str));
        operator.tries(&words.collect::<Vec<_>>())
    };
    let told = save("saved", &reach);
    assert_eq!(told.code, 0, "{told:?}");
    let seen = operator.does(&["snapshot", "inspect", "saved"]);
    assert!(seen.contains("a whole snapshot") && seen.contains("1 reservations"), "{seen}");
    assert_eq!(save("saved", &reach).code, 73, "it is not overwritten");
    let mut as_cluster = reach.clone();
    as_cluster[3] = operator.issued("rome").display().to_string();
    let told = save("other", &as_cluster);
    assert!(told.code == 1 && told.complaint.contains("only an administrator"), "{told:?}");
    assert_eq!(reserve(&operator, &broker).0, 201, "the broker goes on");
    broker.stop();
    let told = save("other", &reach);
    assert!(told.code == 69 && told.complaint.contains("does not answer"), "{told:?}");
    assert!(!operator.path("other").exists());
    operator.does(&["snapshot", "restore", "saved", "--data", "elsewhere"]);
    operator.does(&["verify", "--data", "elsewhere"]);
}

#[test]
fn an_administrator_ends_the_recovery_of_clusters_that_never_say_what_they_hold() {
    let operator = stopped();
    operator.does(&["snapshot", "save", "saved", "--data", "data"]);
    for everyone in [false, true] {
        let data = if everyone { "second" } else { "first" };
        operator.does(&["snapshot", "restore", "saved", "--data", data]);
        let certificates = operator.path("data/tls").display().to_string();
        let broker = operator.serve_with(data, &["--http-cert-path", &certificates]);
        assert_eq!(reserve(&operator, &broker).0, 409);
        let reach = reach(&operator, &broker);
        let recover = |who: &str| {
            let words = ["recover", who].into_iter().chain(reach.iter().map(String::as_str));
            operator.tries(&words.collect::<Vec<_>>())
        };
        let told = recover("oslo");
        assert!(told.code == 1 && told.complaint.contains("there is no cluster oslo"), "{told:?}");
        let told = recover(if everyone { "--all" } else { "rome" });
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.text.ends_with("may get reservations again\n"), "{told:?}");
        assert_eq!(reserve(&operator, &broker).0, 201);
    }
}

#[test]
fn an_administrator_confirms_the_clock() {
    let (operator, broker) = serving();
    let reach = reach(&operator, &broker);
    let words = ["confirm-clock"].into_iter().chain(reach.iter().map(String::as_str));
    let said = operator.does(&words.collect::<Vec<_>>());
    assert_eq!(said, "the broker believes its clock\n");
}

#[test]
fn a_snapshot_overwrites_nothing_and_a_damaged_one_is_not_restored() {
    let operator = stopped();
    let save = ["snapshot", "save", "saved", "--data", "data"];
    operator.does(&save);
    assert_eq!(operator.tries(&save).code, 73);
    let ledger = std::fs::read(operator.path("data/ledger.redb")).unwrap();
    let over = operator.tries(&["snapshot", "restore", "saved", "--data", "data"]);
    assert_eq!(over.code, 73, "{over:?}");
    assert!(std::fs::read(operator.path("data/ledger.redb")).unwrap() == ledger);
    let mut bytes = std::fs::read(operator.path("saved")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(operator.path("damaged"), &bytes).unwrap();
    std::fs::write(operator.path("other"), "something else").unwrap();
    for file in ["damaged", "other", "missing"] {
        let told = operator.tries(&["snapshot", "inspect", file]);
        assert_eq!(told.code, 74, "{told:?}");
        let told = operator.tries(&["snapshot", "restore", file, "--data", "new"]);
        assert_eq!(told.code, 74, "{told:?}");
        assert!(!operator.path("new/ledger.redb").exists());
    }
}

#[test]
fn a_compacted_ledger_is_not_larger_and_still_sound() {
    let operator = stopped();
    let length = || std::fs::metadata(operator.path("data/ledger.redb")).unwrap().len();
    let before = length();
    let said = operator.does(&["compact", "--data", "data"]);
    assert!(said.contains(&format!("{before} bytes before, {} now", length())), "{said}");
    assert!(length() <= before);
    operator.does(&["verify", "--data", "data"]);
    let broker = operator.serve("data");
    assert_eq!(reserve(&operator, &broker).0, 201);
}
