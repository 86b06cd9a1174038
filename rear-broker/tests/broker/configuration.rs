//! Configuration: every key by flag, environment and file, in this order; each wrong one with its place and the remedy.

use std::path::{Path, PathBuf};

use clap::Parser;
use rear_broker::config::{
    ConfigErrors, Environment, FILE, Flags, KEYS, Key, Loaded, Reload, Shape, load, load_again,
};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: Flags,
}

fn flags(words: &[String]) -> Flags {
    let words = ["rear-broker".to_owned()].into_iter().chain(words.iter().cloned());
    Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).flags
}

/// For each key a good value that is not its default, and a bad one where any text is not good.
fn samples(key: &Key) -> (&'static str, Option<&'static str>) {
    match key.name {
        "data" | "http-cert-path" | "audit-log" | "kubeconfig" | "etcd-cert-path"
        | "etcd-password-file" => ("/somewhere/else", None),
        // The other one needs more keys, and a build that has it.
        "store" => ("redb", Some("paper")),
        "etcd-endpoints" => ("http://127.0.0.1:2379", Some("etcd-1")),
        "etcd-prefix" => ("/elsewhere", Some("elsewhere")),
        "etcd-user" => ("broker", Some("")),
        "etcd-peer-address" => ("127.0.0.1:9444", Some("9444")),
        "etcd-snapshot-every" => ("7", Some("0")),
        "http-port" => ("9443", Some("70000")),
        "http-address" => ("127.0.0.1", Some("localhost")),
        "metrics-bind-address" | "health-probe-bind-address" | "operations-bind-address" => {
            ("127.0.0.1:9", Some("8080"))
        }
        "broker-interface" => ("http,kubernetes", Some("smoke")),
        "shared-namespace" => ("default", Some("Default")),
        "kubernetes-replaces-ledger" => ("any", Some("some")),
        "leader-elect" | "hide-names" | "metrics-per-cluster" => ("true", Some("yes")),
        "administrator-unit" => ("bosses", Some("")),
        "administrator" => ("boss", Some("Boss")),
        "stale-after"
        | "requester-gone-after"
        | "default-duration"
        | "max-duration"
        | "ended-kept-for"
        | "events-kept-for" => ("1h1s", Some("1d")),
        "events-kept" | "max-reservations" | "requests-per-second" | "request-burst" => {
            ("77", Some("0"))
        }
        "strategy" => ("binpack", Some("best")),
        "weight" => ("gpu=3", Some("gpu=1001")),
        "cost-share" => ("50", Some("101")),
        "currency" => ("EUR", Some("E.U.R")),
        "max-priority" => ("5", Some("high")),
        "priority-cap" => ("rome=5", Some("rome")),
        "durability" => ("one-phase", Some("none")),
        "log-level" => ("info,audit=off", Some("loud")),
        "log-format" => ("json", Some("xml")),
        other => panic!("{other} is a new key: give it a sample"),
    }
}

/// A place for a file.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.0.path().join("any.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Reads a configuration whose data directory is named by a flag, unless it is the file that should name it.
fn read(
    words: &[&str],
    variables: &[(&str, &str)],
    file: Option<&Path>,
) -> Result<Loaded, ConfigErrors> {
    let mut words: Vec<String> = words.iter().map(ToString::to_string).collect();
    if let Some(file) = file {
        words.extend(["--config".to_owned(), file.display().to_string()]);
    }
    let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    load(&flags(&words), &variables.collect::<Environment>())
}

const DATA: (&str, &str) = ("REAR_DATA", "somewhere");

/// A line of a file that says the same as a flag.
fn line(key: &Key, value: &str) -> String {
    key.line(&[value.to_owned()]) + "\n"
}

#[test]
fn only_what_tells_nothing_listens_beyond_this_machine_by_itself() {
    let config = read(&[], &[DATA], None).unwrap().config;
    let at = |text: &str| Some(text.parse().unwrap());
    assert_eq!(config.metrics_bind_address.0, at("[::]:8080"));
    assert_eq!(config.health_probe_bind_address.0, at("[::]:8081"));
    assert_eq!(config.operations_bind_address.0, at("127.0.0.1:8082"));
}

#[test]
fn every_key_means_the_same_by_flag_environment_and_file() {
    let place = Place::new();
    let defaults = read(&[], &[DATA], None).unwrap().config;
    for key in KEYS {
        let (good, _) = samples(key);
        let flag = format!("--{}={good}", key.name);
        let by_flag = read(&[&flag], &[DATA], None).unwrap().config;
        let by_variable = read(&[], &[DATA, (&key.variable(), good)], None).unwrap().config;
        let file = place.file(&line(key, good));
        let data = if key.name == "data" { &[][..] } else { &[DATA] };
        let by_file = read(&[], data, Some(&file)).unwrap().config;
        assert_eq!(by_flag, by_variable, "{}", key.name);
        assert_eq!(by_flag, by_file, "{}", key.name);
        let changed: Vec<_> = defaults.changes(&by_flag).iter().map(|key| key.name).collect();
        let expected = if key.default == Some(good) { vec![] } else { vec![key.name] };
        assert_eq!(changed, expected);
    }
}

#[test]
fn a_shared_ledger_is_refused_where_something_for_it_is_missing() {
    let shared = ("REAR_STORE", "etcd");
    let told = |words: &[&str]| read(words, &[DATA, shared], None).unwrap_err().to_string();
    let alone = told(&[]);
    if !cfg!(feature = "etcd") {
        assert!(alone.contains("--features etcd"), "{alone}");
        return;
    }
    assert!(alone.contains("etcd-endpoints"), "{alone}");
    let plain = told(&["--etcd-endpoints=https://etcd-1:2379"]);
    assert!(plain.contains("etcd-cert-path"), "{plain}");
    let user = told(&["--etcd-endpoints=http://127.0.0.1:2379", "--etcd-user=broker"]);
    assert!(user.contains("etcd-password-file"), "{user}");
}

#[test]
fn a_flag_counts_before_the_environment_and_that_before_the_file() {
    let place = Place::new();
    for key in KEYS.iter().filter(|key| key.shape == Shape::One && key.name != "data") {
        let (good, _) = samples(key);
        // Something else, so that it can be told apart: what is not read is not even checked.
        let other = "something that no key would take";
        let file = place.file(&format!("{} = \"{other}\"\n", key.name));
        let flag = format!("--{}={good}", key.name);
        let variable = key.variable();
        let expected = read(&[&flag], &[DATA], None).unwrap().config;
        let all = read(&[&flag], &[DATA, (&variable, other)], Some(&file)).unwrap().config;
        let two = read(&[], &[DATA, (&variable, good)], Some(&file)).unwrap().config;
        assert_eq!([&all, &two], [&expected; 2], "{}", key.name);
    }
    let off = place.file("hide-names = true\n");
    assert!(read(&[], &[DATA], Some(&off)).unwrap().config.hide_names);
    assert!(!read(&["--hide-names=false"], &[DATA], Some(&off)).unwrap().config.hide_names);
    assert!(
        read(&["--hide-names"], &[DATA, ("REAR_HIDE_NAMES", "false")], None)
            .unwrap()
            .config
            .hide_names
    );
}

#[test]
fn a_wrong_value_is_told_with_its_place_and_what_would_be_right() {
    let place = Place::new();
    for key in KEYS {
        let (_, Some(bad)) = samples(key) else { continue };
        let remedy = (key.check)(bad).unwrap_err();
        let told_where = |told: String, place: &str| {
            let words = format!("{place}: `{}` cannot be ", key.name);
            assert!(told.contains(&words) && told.contains(&remedy), "{told}");
        };
        let file = place.file(&format!("# a remark\n\n{} = {bad:?}\n", key.name));
        if key.shape != Shape::Many {
            let told = read(&[], &[DATA], Some(&file)).unwrap_err().to_string();
            told_where(told, &format!("{}, line 3", file.display()));
        }
        let flag = format!("--{}={bad}", key.name);
        let list = place.file(&line(key, bad));
        if key.shape == Shape::Many {
            let told = read(&[], &[DATA], Some(&list)).unwrap_err().to_string();
            told_where(told, &format!("{}, line 1", list.display()));
        }
        let refused = Line::try_parse_from(["rear-broker", &flag]).map(drop).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(&format!("--{}", key.name)), "{refused}");
        let remedy =
            if key.shape == Shape::Switch { "[possible values: true, false]" } else { &remedy };
        assert!(refused.contains(remedy), "{refused}");
        // An empty variable is one that is not set.
        if !bad.is_empty() {
            let variable = key.variable();
            let told = read(&[], &[DATA, (&variable, bad)], None).unwrap_err().to_string();
            told_where(told, &format!("environment variable {variable}"));
        }
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let told = read(&[], &[("REAR_HTTP_PORT", "x"), ("REAR_STALE_AFTER", "x")], None).unwrap_err();
    let told = told.to_string();
    for words in
        ["REAR_HTTP_PORT", "REAR_STALE_AFTER", "`data` is missing: give it with the flag --data, "]
    {
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_file_in_the_data_directory_that_cannot_be_read_or_has_gone_is_no_missing_file() {
    let place = Place::new();
    let data = ["--data".to_owned(), place.0.path().display().to_string()];
    let environment = Environment::default();
    let again = |before: Option<&Path>| load_again(&flags(&data), &environment, before);
    assert_eq!(again(None).unwrap().file, None);
    let path = place.0.path().join(FILE);
    assert!(again(Some(&path)).unwrap_err().to_string().contains("cannot be read"));
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    for before in [None, Some(&*path)] {
        let told = again(before).unwrap_err().to_string();
        assert!(told.contains("broker.toml cannot be read: No such file"), "{told}");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "hide-names = true").unwrap();
    assert!(again(Some(&path)).unwrap().config.hide_names);
}

#[test]
fn all_that_is_wrong_is_told_in_the_order_of_the_lines() {
    let place = Place::new();
    let file = place.file("stale-aftr = \"10m\"\nhttp-port = []\nany = 1\nevents-kept = 0\n");
    let told = read(&[], &[DATA, ("REAR_LOG_FORMAT", "xml")], Some(&file)).unwrap_err().to_string();
    let words = ["line 1: ", "line 2: ", "line 3: ", "line 4: `events-kept`", "REAR_LOG_FORMAT"];
    let places: Vec<_> = words.map(|words| told.find(words)).into();
    assert!(places.iter().all(Option::is_some) && places[..3].is_sorted(), "{told}");
}

#[test]
fn what_is_no_key_or_no_toml_is_refused_with_its_line() {
    let place = Place::new();
    for (text, words) in [
        (
            "http-port = 1\nhttp_adress = \"::1\"\n",
            "any.toml, line 2: there is no key `http_adress`; is `http-address` meant?",
        ),
        (
            "\n[server]\nport = 1\n",
            "any.toml, line 2: there is no key `server`; docs/reference/configuration.md has them all",
        ),
        ("http-port = \n", "any.toml, line 1: this is not TOML"),
        (
            "log-level = \"info\"\nlog-level = \"warn\"\n",
            "any.toml, line 2: this is not TOML: duplicate key",
        ),
        ("http-port = true\n", "any.toml, line 1: `http-port` cannot be"),
        ("hide-names = \"yes\"\n", "it is true or false, not string"),
        ("administrator = \"boss\"\n", "it is a list, such as"),
        ("administrator = [1.5]\n", "any.toml, line 1: `administrator` cannot be"),
    ] {
        let told = read(&[], &[DATA], Some(&place.file(text))).unwrap_err().to_string();
        assert!(told.contains(words), "{words} is not in {told}");
    }
    let missing = read(&[], &[DATA], Some(Path::new("no/such.toml"))).unwrap_err().to_string();
    assert!(missing.contains("no/such.toml cannot be read"), "{missing}");
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    let told = read(&["--max-duration", "1h"], &[DATA, ("REAR_DEFAULT_DURATION", "2h")], None);
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("environment variable REAR_DEFAULT_DURATION: `default-duration` cannot be"),
        "{told}"
    );
    assert!(told.contains("it is at most max-duration, which is 1h0m0s"), "{told}");
}

#[test]
fn the_file_in_the_data_directory_is_read_without_being_named() {
    let place = Place::new();
    std::fs::write(place.0.path().join(FILE), "http-port = 9\n").unwrap();
    let data = place.0.path().display().to_string();
    let loaded = read(&[], &[("REAR_DATA", &data)], None).unwrap();
    assert_eq!((loaded.config.http_port, loaded.file), (9, Some(place.0.path().join(FILE))));
    let named = place.file("http-port = 10\n").display().to_string();
    let loaded = read(&[], &[("REAR_DATA", &data), ("REAR_CONFIG", &named)], None).unwrap();
    assert_eq!(loaded.config.http_port, 10);
}

#[test]
fn the_flags_of_the_earlier_system_are_there_with_their_defaults() {
    for (name, default) in [
        ("http-port", Some("8443")),
        ("http-cert-path", None),
        ("metrics-bind-address", Some(":8080")),
        ("health-probe-bind-address", Some(":8081")),
        ("broker-interface", Some("http")),
        ("leader-elect", Some("false")),
    ] {
        let key = KEYS.iter().find(|key| key.name == name).unwrap();
        assert_eq!(key.default, default, "{name}");
    }
    // As they were written: a switch alone, a value after a space.
    let words = ["--leader-elect", "--http-port", "9", "--broker-interface", "http"];
    assert!(read(&words, &[DATA], None).unwrap().config.leader_elect);
}

#[test]
fn config_check_says_what_counts_and_where_it_comes_from() {
    let place = Place::new();
    let file = place.file("stale-after = \"5m\"\nadministrator = [\"alice\", \"bob\"]\n");
    let check = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rear-broker"));
        command.args(["config", "check", "--config"]).arg(&file).args(more);
        command.env("REAR_DATA", "somewhere").env("REAR_HTTP_PROT", "9").output().unwrap()
    };
    let output = check(&["--http-port", "9"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let path = file.display();
    for line in [
        format!("# file: {path}"),
        "# REAR_HTTP_PROT in the environment is no key".to_owned(),
        "data = \"somewhere\" # environment variable REAR_DATA".to_owned(),
        "http-port = 9 # flag --http-port".to_owned(),
        "hide-names = false # default".to_owned(),
        format!("stale-after = \"5m\" # {path}, line 1"),
        format!("administrator = [\"alice\", \"bob\"] # {path}, line 2"),
        "# max-duration: not set".to_owned(),
    ] {
        assert!(said.lines().any(|found| found == line), "{line} is not in\n{said}");
    }
    // What it says can be read again.
    let again = place.0.path().join("again.toml");
    std::fs::write(&again, &said).unwrap();
    let (first, second) =
        (read(&["--http-port=9"], &[DATA], Some(&file)), read(&[], &[], Some(&again)));
    assert_eq!(first.unwrap().config, second.unwrap().config);
    let output = check(&["--http-port", "70000"]);
    assert_eq!(output.status.code(), Some(2));
    std::fs::write(&file, "stale_after = 5\n").unwrap();
    let output = check(&[]);
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("line 1: there is no key `stale_after`; is `stale-after` meant?"),
        "{said}"
    );
}

/// The table of the reference, from the table in the code.
fn table() -> String {
    let rows = KEYS.iter().map(|key| {
        let default = key.default.map_or_else(String::new, |default| format!("`{default}`"));
        let reload = match key.reload {
            Reload::AtOnce => "yes",
            Reload::AtRestart => "no",
        };
        let value = match key.shape {
            Shape::Many => format!("list of {}", key.value_name),
            Shape::One | Shape::Switch => key.value_name.to_owned(),
        };
        format!("| `{}` | {value} | {default} | {reload} | {} |\n", key.name, key.help)
    });
    let head = "| key | value | default | reloaded | meaning |\n|---|---|---|---|---|\n".to_owned();
    [head].into_iter().chain(rows).collect()
}

/// With `BLESS=1` in the environment it writes the table.
#[test]
fn the_reference_has_every_key_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/configuration.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("| key |").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let expected = format!("{before}{}\n{after}", table());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(text == expected, "run this test with BLESS=1");
}
