//! The reference of a command line as a page, made from what clap knows.

use std::fmt::Write;

use clap::{Arg, Command};

/// A program whose command line is told.
pub struct Program<'a> {
    /// What clap knows.
    pub grammar: Command,
    /// What stands above.
    pub introduction: &'a str,
    /// Flags that are told elsewhere.
    pub elsewhere: fn(&Arg) -> bool,
    /// What is said of commands that have such flags.
    pub about_elsewhere: &'a str,
    /// How it ends: codes, and what they mean.
    pub exits: Vec<(u8, String)>,
}

/// The page.
#[must_use]
pub fn page(program: Program<'_>) -> String {
    let Program { mut grammar, introduction, elsewhere, about_elsewhere, exits } = program;
    grammar.build();
    let mut page = introduction.to_owned();
    let global: Vec<&Arg> = grammar.get_arguments().filter(|it| it.is_global_set()).collect();
    if !global.is_empty() {
        page.push_str("\n## Flags of every command\n\n");
        page.push_str(&table(global.into_iter()));
    }
    describe(&grammar, grammar.get_name(), &(elsewhere, about_elsewhere), &mut page);
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in exits {
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page
}

/// Which flags are told elsewhere, and what is said about that.
type Elsewhere<'a> = (fn(&Arg) -> bool, &'a str);

fn describe(command: &Command, path: &str, elsewhere: &Elsewhere<'_>, page: &mut String) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name());
        if below.has_subcommands() {
            describe(below, &path, elsewhere, page);
            continue;
        }
        let _ = write!(page, "\n## `{path}`\n\n{}.\n", about(below).trim_end_matches('.'));
        let (own, others): (Vec<&Arg>, Vec<&Arg>) = below
            .get_arguments()
            .filter(|argument| is_own(argument))
            .partition(|it| !elsewhere.0(it));
        if !others.is_empty() {
            let _ = writeln!(page, "{}", elsewhere.1);
        }
        if !own.is_empty() {
            page.push('\n');
            page.push_str(&table(own.into_iter()));
        }
    }
}

/// Not what every command has.
#[must_use]
pub fn is_own(argument: &Arg) -> bool {
    !argument.is_global_set() && !["help", "version"].contains(&argument.get_id().as_str())
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// A row for each argument that is not hidden.
pub fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut text = String::from("| flag | meaning | default |\n|---|---|---|\n");
    for argument in arguments.filter(|argument| !argument.is_hide_set()) {
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
    // A name that only repeats the flag says nothing.
    let value = value
        .filter(|value| value.to_lowercase() != argument.get_id().as_str() || !value.contains('_'));
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
        .filter(|value| !value.is_hide_set() && !value.get_name().is_empty())
        .filter(|_| argument.get_action().takes_values())
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
    let values = values.join(" ");
    if values.is_empty() { values } else { format!("`{values}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_command_and_flag_with_its_default() {
        let grammar = Command::new("clock").subcommand(
            Command::new("set")
                .about("Sets it")
                .arg(Arg::new("zone").long("zone").value_name("ZONE").default_value("UTC"))
                .arg(Arg::new("key").long("key").value_name("KEY")),
        );
        let program = Program {
            grammar,
            introduction: "# clock\n",
            elsewhere: |argument| argument.get_id() == "key",
            about_elsewhere: "And keys.",
            exits: vec![(0, "done".to_owned())],
        };
        assert_eq!(
            page(program),
            "# clock\n\n## `clock set`\n\nSets it.\nAnd keys.\n\n| flag | meaning | default |\n|---|---|---|\n\
             | `--zone ZONE` |  | `UTC` |\n\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n"
        );
    }
}
