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
    assert!(told.complaint.contains("stop the broker first"), "{told:?}");
    assert!(!operator.path("saved").exists());
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
