//! Names and texts of others never reach a terminal as anything but text.

use super::between::Between;
use super::program::Ctl;
use super::stage::{Stage, idle};

/// Clears the screen, rings, turns the direction, and ends in the other kind of control.
const NASTY: &str = "a\u{1b}[2J\u{7}b\u{202e}c\u{9b}1md\u{7f}";

#[test]
fn control_characters_of_the_brokers_texts_are_escaped_in_every_format() {
    let stage = Stage::start();
    let mut rome = idle("rome", "8", "16Gi");
    stage.advertise(&rome);
    rome.cluster_name = Some("Rome".into());
    stage.advertise(&rome);
    let made = stage.reserve("paris", "1", "1Gi");
    // The real broker refuses most of this: one that is not to be trusted does not.
    let between = Between::before(&stage, |line, reply| {
        let nasty = serde_json::Value::from(NASTY);
        if line.contains("/advertisements") {
            reply.json(|body| {
                let clusters = match body {
                    serde_json::Value::Array(all) => all.iter_mut().collect(),
                    one => vec![one],
                };
                for cluster in clusters {
                    for member in ["clusterID", "clusterName", "timestamp", "endpointURL"] {
                        cluster[member] = nasty.clone();
                    }
                    cluster["labels"] = serde_json::json!({ NASTY: NASTY });
                    cluster["resources"]["allocatable"]["gpu"] = nasty.clone();
                    cluster["status"]["score"] = nasty.clone();
                }
            });
        } else if line.contains("/reservations/") {
            reply.json(|it| {
                it["requesterID"] = nasty.clone();
                it["status"]["message"] = nasty.clone();
                it["status"]["phase"] = nasty.clone();
                it["status"]["expiresAt"] = nasty.clone();
            });
        }
    });
    let id = made.id.as_str();
    for command in [
        &["clusters", "list"][..],
        &["clusters", "get", "rome"],
        &["clusters", "describe", "rome"],
        &["reservations", "get", id],
        &["reservations", "describe", id],
    ] {
        for format in ["table", "wide", "json", "yaml", "name"] {
            let arguments = [command, &["-o", format]].concat();
            let ctl = Ctl::new(stage.folder.path(), &arguments);
            let told = ctl.to(&between.url(), &stage.certificates("admin")).run();
            let all = format!("{}{}", told.out, told.err);
            let acted_on =
                |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
            assert!(!all.contains(acted_on), "{arguments:?}: {all:?}");
            assert_eq!(told.code, 0, "{arguments:?}: {all}");
        }
    }
}

#[test]
fn control_characters_of_errors_are_escaped() {
    let stage = Stage::start();
    let between = Between::before(&stage, |_, reply| {
        reply.status = "409 Conflict".to_owned();
        reply.body = serde_json::json!({"detail": NASTY, "code": "no-room", "candidates": [
            {"clusterID": NASTY, "reason": NASTY, "detail": NASTY}]})
        .to_string();
    });
    for command in [&["clusters", "list"][..], &["reserve", "--cpu", "1", "--memory", "1Gi"]] {
        let ctl = Ctl::new(stage.folder.path(), command);
        let told = ctl.to(&between.url(), &stage.certificates("admin")).run();
        assert_ne!(told.code, 0);
        assert!(!told.err.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']), "{told:?}");
    }
}
