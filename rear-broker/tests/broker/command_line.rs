//! The reference of the command line has every command and flag, and none that is not there.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory;
use rear_broker::config::KEYS;

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/command-line.md");
    std::fs::read_to_string(path).unwrap()
}

/// What clap knows: `(command, argument, its default)`.
fn known() -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    collect(&rear_broker::cli::CommandLine::command(), "rear-broker", &mut found);
    found
}

fn collect(command: &clap::Command, path: &str, into: &mut BTreeSet<(String, String, String)>) {
    for subcommand in command.get_subcommands() {
        collect(subcommand, &format!("{path} {}", subcommand.get_name()), into);
    }
    if !command.has_subcommands() {
        into.insert((path.to_owned(), String::new(), String::new()));
    }
    for argument in command.get_arguments().filter(|it| !is_everywhere(it) && !is_key(it)) {
        let value = match argument.get_value_names() {
            Some([name]) if argument.get_action().takes_values() => name.to_string(),
            _ => String::new(),
        };
        let shown = match argument.get_long() {
            Some(long) => format!("--{long} {value}"),
            None => value,
        };
        let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
        let takes = argument.get_action().takes_values();
        let default = if takes { defaults.collect::<Vec<_>>().join(" ") } else { String::new() };
        into.insert((path.to_owned(), shown.trim().to_owned(), default));
    }
}

fn is_everywhere(argument: &clap::Arg) -> bool {
    ["help", "version"].contains(&argument.get_id().as_str())
}

/// The keys of the configuration have a reference of their own.
fn is_key(argument: &clap::Arg) -> bool {
    KEYS.iter().any(|key| key.name == argument.get_id() && key.help == help_of(argument))
}

fn help_of(argument: &clap::Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}

/// What the reference says: a heading for each command, a row for each argument.
fn documented() -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    let mut command = String::new();
    for line in reference().lines() {
        if let Some(heading) = line.strip_prefix("## `rear-broker") {
            command = format!("rear-broker{}", heading.trim_end_matches('`'));
            found.insert((command.clone(), String::new(), String::new()));
        } else if let Some(row) = line.strip_prefix("| `")
            && !command.is_empty()
        {
            let (argument, rest) = row.split_once('`').unwrap();
            let default = rest.split('|').nth(1).unwrap().trim().trim_matches('`');
            let argument = argument.replace("\\|", "|");
            found.insert((command.clone(), argument, default.to_owned()));
        } else if line.starts_with("## ") {
            command.clear();
        }
    }
    found
}

#[test]
fn the_reference_has_every_flag_with_its_default_and_none_that_is_not_there() {
    let (known, documented) = (known(), documented());
    assert!(known.len() > 25, "{known:?}");
    let missing: Vec<_> = known.difference(&documented).collect();
    let invented: Vec<_> = documented.difference(&known).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "missing: {missing:#?}, invented: {invented:#?}"
    );
}

#[test]
fn the_reference_has_every_exit_code() {
    use rear_broker::cli::exit::{ADDRESS, CLOCK, CONFIGURATION, DATA, EXISTS, OK, OTHER};
    /// What clap ends with when a command line makes no sense.
    const USAGE: u8 = 2;
    let text = reference();
    let table = text.split("## Exit codes").nth(1).unwrap();
    let codes: Vec<u8> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(codes, [OK, OTHER, USAGE, ADDRESS, CLOCK, EXISTS, DATA, CONFIGURATION]);
}
