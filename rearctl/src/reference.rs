//! The reference of the command line as a page, made from what clap knows: a test holds the committed page against it.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::cli::{EXITS, grammar};

const INTRODUCTION: &str = "\
# `rearctl`

The command line of a broker's operators and users. Made from the program itself: a test compares this page with it
(`BLESS=1 cargo test -p rearctl --test rearctl` writes it anew). How it is used is told in
[use-rearctl.md](../how-to/use-rearctl.md).

Data goes to the standard output, everything else to the standard error. Colours and progress appear only on a terminal;
`NO_COLOR` turns colours off. Names and texts of others are printed with control characters escaped.
";

/// The page.
#[must_use]
pub fn page() -> String {
    let mut command = grammar();
    command.build();
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Flags of every command\n\n");
    page.push_str(&table(command.get_arguments().filter(|argument| argument.is_global_set())));
    describe(&command, "rearctl", &mut page);
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for exit in EXITS {
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| {} | {} |", exit.code, exit.meaning);
    }
    page
}

fn describe(command: &Command, path: &str, page: &mut String) {
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name());
        if below.has_subcommands() {
            describe(below, &path, page);
            continue;
        }
        let _ = write!(page, "\n## `{path}`\n\n{}.\n", about(below));
        let own: Vec<&Arg> = below.get_arguments().filter(|argument| is_own(argument)).collect();
        if !own.is_empty() {
            page.push('\n');
            page.push_str(&table(own.into_iter()));
        }
    }
}

fn is_own(argument: &Arg) -> bool {
    !argument.is_global_set() && !["help", "version"].contains(&argument.get_id().as_str())
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut text = String::from("| flag | meaning | default |\n|---|---|---|\n");
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            shown(argument),
            meaning(argument, &help),
            default(argument)
        );
    }
    text.replace("||", "| |")
}

fn shown(argument: &Arg) -> String {
    let takes = argument.get_action().takes_values();
    let value = argument.get_value_names().filter(|_| takes).map(|names| names.join(" "));
    let value = value.map(|value| value.replace('|', "\\|"));
    let flag = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        _ => String::new(),
    };
    let text = [Some(flag), value].into_iter().flatten().filter(|part| !part.is_empty());
    format!("`{}`", text.collect::<Vec<_>>().join(" "))
}

fn meaning(argument: &Arg, help: &str) -> String {
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && argument.get_action().takes_values())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), lower(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
    let variable =
        argument.get_env().map(|name| format!(" (environment: `{}`)", name.to_string_lossy()));
    format!("{help}{values}{}", variable.unwrap_or_default()).replace('|', "\\|")
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let capital = text.chars().nth(1).is_some_and(char::is_uppercase);
    match letters.next() {
        Some(first) if !capital => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn default(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let values: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if values.is_empty() { String::new() } else { format!("`{}`", values.join(" ")) }
}
