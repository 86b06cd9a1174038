//! Every output format, for every kind, says the same thing.

use serde_json::Value;

use super::stage::{Stage, idle};

fn stage() -> (Stage, String) {
    let stage = Stage::start();
    let mut rome = idle("rome", "8", "16Gi");
    rome.labels = Some(rear_api::labels::LabelTexts(
        [("on".to_owned(), "yes".to_owned()), ("a: b".to_owned(), "\"x\" #1.0".to_owned())]
            .into_iter()
            .collect(),
    ));
    stage.advertise(&rome);
    stage.advertise(&idle("paris", "1", "1Gi"));
    let made = stage.reserve("paris", "1", "1Gi");
    (stage, made.id)
}

#[test]
fn yaml_and_json_of_every_kind_are_the_same_values() {
    let (stage, id) = stage();
    for (who, command) in [
        ("admin", &["clusters", "list"][..]),
        ("admin", &["clusters", "get", "rome"]),
        ("admin", &["clusters", "describe", "rome"]),
        ("admin", &["reservations", "list"]),
        ("admin", &["reservations", "get", &id]),
        ("rome", &["instructions", "list"]),
        ("rome", &["instructions", "get", &id]),
        ("paris", &["reserve", "--cpu", "1", "--memory", "1Gi", "--explain"]),
        ("paris", &["instructions", "list"]),
    ] {
        let json = stage.ctl(who, &[command, &["-o", "json"]].concat()).out();
        let yaml = stage.ctl(who, &[command, &["-o", "yaml"]].concat()).out();
        let as_json: Value = serde_json::from_str(&json).unwrap();
        let as_yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(as_json, as_yaml, "{command:?}\n{yaml}");
    }
}

#[test]
fn a_list_is_an_array_and_one_thing_an_object_as_the_api_has_it() {
    let (stage, id) = stage();
    let value = |command: &[&str]| -> Value {
        serde_json::from_str(&stage.admin(&[command, &["-o", "json"]].concat()).out()).unwrap()
    };
    let all = value(&["reservations", "list"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!(all[0], value(&["reservations", "get", &id]));
    assert_eq!(all[0]["targetClusterID"], "rome");
}

#[test]
fn a_cluster_that_is_forgotten_is_told_in_every_format() {
    let stage = Stage::start();
    let forgotten = |format: &str| {
        stage.advertise(&idle("rome", "8", "16Gi"));
        stage.admin(&["forget", "rome", "--yes", "-o", format]).out()
    };
    let answer = serde_json::json!({"clusterID": "rome"});
    assert_eq!(serde_json::from_str::<Value>(&forgotten("json")).unwrap(), answer);
    assert_eq!(serde_saphyr::from_str::<Value>(&forgotten("yaml")).unwrap(), answer);
    for format in ["table", "wide", "name"] {
        assert_eq!(forgotten(format), "clusters/rome\n", "{format}");
    }
}

#[test]
fn wide_has_what_the_table_has_and_more() {
    let (stage, _) = stage();
    for command in [&["clusters", "list"][..], &["reservations", "list"]] {
        let words = |format: &str| -> usize {
            let shown = stage.admin(&[command, &["-o", format]].concat()).out();
            shown.lines().next().unwrap().split_whitespace().count()
        };
        assert!(words("wide") > words("table"), "{command:?}");
    }
}

#[test]
fn the_heading_of_a_table_can_be_left_out_and_is_data_of_people_only() {
    let (stage, _) = stage();
    let bare = stage.admin(&["clusters", "list", "--no-headers"]).out();
    assert_eq!(bare.lines().count(), 2);
    assert!(!bare.contains("NAME"), "{bare}");
    let empty = Stage::start();
    let told = empty.admin(&["clusters", "list"]).run();
    assert_eq!((told.code, told.out.as_str()), (0, ""));
    assert_eq!(told.err, "rearctl: there are no clusters to show\n");
    for (format, nothing) in [("json", "[]\n"), ("yaml", "[]\n"), ("name", "")] {
        let told = empty.admin(&["clusters", "list", "-o", format]).run();
        assert_eq!((told.out.as_str(), told.err.as_str()), (nothing, ""), "{format}");
    }
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let (stage, _) = stage();
    for command in
        [&["clusters", "list"][..], &["clusters", "describe", "rome"], &["check"], &["top"]]
    {
        let told = stage.admin(command).run();
        assert!(!told.out.contains('\x1b') && !told.err.contains('\x1b'), "{told:?}");
    }
}
