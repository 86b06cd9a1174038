//! Whatever documents have their readers type exists: commands, flags, keys and variables of our programs.

use std::collections::BTreeSet;

use clap::Command;
use rear_broker::config::KEYS;
use rear_packaging::document::{blocks_of, typed};
use rear_packaging::typed::{calls, unknown};
use serde_json::Value;

use super::documents::pages;
use super::tree::{root, sources, text};

/// Each program by the name that is typed.
fn programs() -> [(&'static str, Command); 4] {
    [
        ("rear-broker", rear_broker::cli::grammar()),
        ("rear-agent", rear_agent::cli::grammar()),
        ("rearctl", rearctl::cli::grammar()),
        ("rear-fleet", rear_fleet::cli::grammar()),
    ]
}

/// Every text that tells how something is used.
fn documents() -> Vec<(String, String)> {
    let mut names: Vec<_> = pages().iter().map(|page| page.display().to_string()).collect();
    names.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(str::to_owned));
    names.into_iter().map(|name| (name.clone(), text(&name))).collect()
}

/// What stands between backticks in prose, each with its line.
fn spans(document: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(document.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // In a table a bar is written so.
            let spans = line.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|"));
            found.extend(spans.map(|span| (number, span)));
        }
    }
    found
}

/// `cargo run -p PROGRAM -- …` is typed to the program too.
fn without_cargo(line: &str) -> String {
    for (program, _) in programs() {
        for package in [format!("-p {program} --"), format!("--package {program} --")] {
            if line.contains("cargo run")
                && let Some((_, rest)) = line.split_once(&package)
                && !rest.starts_with("ex")
            {
                return format!("{program}{rest}");
            }
        }
    }
    line.to_owned()
}

#[test]
fn every_command_and_flag_that_is_shown_is_there() {
    let (mut looked_at, mut wrong) = (0, Vec::new());
    for (page, document) in documents() {
        let mut lines = typed(&document).unwrap();
        lines.extend(spans(&document));
        for (line, shown) in lines {
            let shown = without_cargo(&shown);
            for (program, grammar) in programs() {
                for call in calls(&shown, program) {
                    looked_at += 1;
                    if let Some(word) = unknown(&grammar, &call) {
                        wrong.push(format!("{page}:{line}: {program} has no `{word}`: {shown}"));
                    }
                }
            }
        }
    }
    assert!(looked_at > 150, "only {looked_at}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Flags of programs that are not ours, as they stand alone in the reference.
const FOREIGN: [&str; 4] = ["--release", "--profile", "--kubeconfig", "--test"];

fn all_flags(command: &Command, found: &mut BTreeSet<String>) {
    found.extend(command.get_arguments().filter_map(|it| it.get_long()).map(str::to_owned));
    for below in command.get_subcommands() {
        all_flags(below, found);
    }
}

#[test]
fn the_reference_knows_no_flag_that_is_not_there() {
    let mut flags = BTreeSet::from(["help".to_owned(), "version".to_owned()]);
    for (_, grammar) in programs() {
        all_flags(&grammar, &mut flags);
    }
    let mut wrong = Vec::new();
    for (page, document) in documents() {
        if !page.starts_with("docs/reference/") {
            continue;
        }
        for (line, span) in spans(&document) {
            for word in span.split([' ', ',']).filter(|word| word.starts_with("--")) {
                let flag = word.split(['=', '[']).next().unwrap();
                let known = flags.contains(flag.trim_start_matches('-')) || flag == "--flag";
                if !known && !FOREIGN.contains(&flag) {
                    wrong.push(format!("{page}:{line}: {flag}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every flag of every command, and every key, each by its own program's page.
#[test]
fn the_reference_has_every_flag_and_every_key() {
    for (program, pages) in [
        ("rear-broker", &["command-line", "configuration"][..]),
        ("rear-agent", &["agent"]),
        ("rearctl", &["rearctl"]),
        ("rear-fleet", &["rear-fleet"]),
    ] {
        let (_, grammar) = programs().into_iter().find(|(name, _)| *name == program).unwrap();
        let mut flags = BTreeSet::new();
        all_flags(&grammar, &mut flags);
        let pages: String =
            pages.iter().map(|page| text(&format!("docs/reference/{page}.md"))).collect();
        for flag in flags {
            let told = [format!("--{flag}`"), format!("--{flag} "), format!("`{flag}`")];
            let hidden = program == "rear-agent" && flag == "pod-namespace";
            assert!(hidden || told.iter().any(|told| pages.contains(told)), "{program} --{flag}");
        }
    }
}

#[test]
fn every_setting_that_is_shown_can_be_used() {
    let mut looked_at = 0;
    for (page, document) in documents() {
        // Which shows those that cannot.
        if page.ends_with("when-it-does-not-work.md") {
            continue;
        }
        for block in blocks_of(&document, "toml").unwrap() {
            // A table is cargo's: the broker's file has none.
            if block.contains('[') && block.lines().any(|line| line.starts_with('[')) {
                continue;
            }
            for line in block.lines().filter(|line| !line.trim().is_empty()) {
                let (name, value) = line.split_once(" = ").unwrap();
                let key = KEYS.iter().find(|key| key.name == name);
                let key = key.unwrap_or_else(|| panic!("{page}: there is no key `{name}`"));
                let value: Value = serde_json::from_str(value).unwrap();
                let values = match value {
                    Value::Array(values) => values,
                    one => vec![one],
                };
                for value in values {
                    looked_at += 1;
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    // A build without it says so of a value that is right.
                    if name == "store" && value == "etcd" {
                        continue;
                    }
                    (key.check)(&value).unwrap_or_else(|error| panic!("{page}: {name}: {error}"));
                }
            }
        }
    }
    assert!(looked_at > 8, "only {looked_at}");
}

/// Names of variables that begin as ours do.
fn variables(document: &str) -> BTreeSet<String> {
    let words = document.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let ours = |word: &&str| word.starts_with("REAR_") || word.starts_with("REARCTL_");
    words.filter(ours).map(str::to_owned).collect()
}

#[test]
fn every_variable_that_is_shown_is_there() {
    let keys: BTreeSet<_> = KEYS
        .iter()
        .map(|key| format!("REAR_{}", key.name.to_uppercase().replace('-', "_")))
        .collect();
    let here = root().join("packaging/tests");
    let sources: String =
        sources().filter(|(path, _)| !path.starts_with(&here)).map(|it| it.1).collect();
    for (page, document) in documents() {
        for variable in variables(&document) {
            // A name that ends so stands for all that begin with it.
            let known = variable.ends_with('_')
                || keys.contains(&variable)
                || sources.contains(&format!("\"{variable}\""));
            assert!(known, "{page}: nothing reads {variable}");
        }
    }
}

#[test]
fn every_suite_that_is_named_is_there() {
    let table = text("xtask/src/suites.rs");
    for (page, document) in documents() {
        for part in document.split("suite `").skip(1) {
            let name = part.split('`').next().unwrap();
            assert!(table.contains(&format!("name: \"{name}\"")), "{page}: no suite {name}");
        }
    }
}
