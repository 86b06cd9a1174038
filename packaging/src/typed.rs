//! Command lines as documents show them, held against what a program knows: every command and flag exists.

use clap::{Arg, Command};

/// The words after which a shell begins another command, or sends output somewhere.
const ENDS: [&str; 10] = ["|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "#"];

/// What of a line is typed to this program: its words, for each time that it is called.
#[must_use]
pub fn calls(line: &str, program: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let begins = |word: &String| word.rsplit(['/', '(']).next() == Some(program);
    let starts = words.iter().enumerate().filter(|(_, word)| begins(word)).map(|(at, _)| at);
    let call = |at: usize| -> Vec<String> {
        words[at + 1..].iter().take_while(|word| !ENDS.contains(&word.as_str())).cloned().collect()
    };
    starts.filter(|at| is_called(&words, *at)).map(call).collect()
}

/// A name is called where a command can begin; elsewhere it is an argument, such as a name of an object.
fn is_called(words: &[String], at: usize) -> bool {
    if words[at].contains('(') {
        return true;
    }
    let before = words[..at].iter().rev();
    let mut before = before.skip_while(|word| is_assignment(word) && !word.contains('('));
    match before.next().map(String::as_str) {
        None | Some("sudo" | "exec" | "xargs" | "$" | "--" | "then" | "do") => true,
        Some(other) => ENDS.contains(&other) || other.ends_with(';'),
    }
}

/// `NAME=value`, before a command or of its own.
fn is_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    word.contains('=')
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words of a line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The first word of a call that the program does not know: a command, or a flag of the command that it is given to.
#[must_use]
pub fn unknown(grammar: &Command, call: &[String]) -> Option<String> {
    let mut grammar = grammar.clone();
    grammar.build();
    let mut path = vec![&grammar];
    for word in call {
        // What a shell's `$( … )` ends with, and sentences.
        let word = word.trim_end_matches([')', ',', '.', ';', ':']);
        let here = path[path.len() - 1];
        if word == "--" {
            return None;
        }
        if word.starts_with('-') && word.len() > 1 {
            if !path.iter().any(|command| has_flag(command, word)) {
                return Some(word.to_owned());
            }
        } else if let Some(below) = here.find_subcommand(word) {
            path.push(below);
        } else if here.is_subcommand_required_set()
            && path.len() == 1
            && !is_value(word)
            && !previous_takes_value(here, call, word)
        {
            return Some(word.to_owned());
        }
    }
    None
}

/// Placeholders, and what stands for a part that is left out.
fn is_value(word: &str) -> bool {
    word == "…" || word.is_empty() || word.chars().any(|c| c.is_ascii_uppercase() || c == '$')
}

/// Whether the word is the value of the flag before it.
fn previous_takes_value(command: &Command, call: &[String], word: &str) -> bool {
    let at = call.iter().position(|it| it.trim_end_matches([')', ',', '.', ';', ':']) == word);
    let before = at.and_then(|at| call.get(at.checked_sub(1)?));
    before.is_some_and(|flag| {
        let named = |argument: &&Arg| is_named(argument, flag);
        command.get_arguments().find(named).is_some_and(|it| it.get_action().takes_values())
    })
}

fn has_flag(command: &Command, word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or(word);
    command.get_arguments().any(|argument| is_named(argument, flag))
        || is_number(flag)
        || ["--help", "--version"].contains(&flag)
}

fn is_named(argument: &Arg, flag: &str) -> bool {
    let long = flag.strip_prefix("--").is_some_and(|long| argument.get_long() == Some(long));
    let short = flag.strip_prefix('-').and_then(|rest| rest.chars().next());
    long || (!flag.starts_with("--") && short.is_some() && argument.get_short() == short)
}

fn is_number(word: &str) -> bool {
    word[1..].chars().next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grammar() -> Command {
        Command::new("clock")
            .subcommand_required(true)
            .arg(Arg::new("verbose").long("verbose").global(true).num_args(0))
            .arg(Arg::new("config").long("config").global(true))
            .subcommand(
                Command::new("set")
                    .arg(Arg::new("zone").long("zone").short('z'))
                    .arg(Arg::new("t")),
            )
    }

    #[test]
    fn calls_are_found_wherever_a_command_can_begin() {
        for (line, found) in [
            ("clock set 12:00", vec!["set 12:00"]),
            ("A=1 ./target/clock set > file", vec!["set"]),
            ("id=$(clock set --zone UTC) || exit", vec!["set --zone UTC)"]),
            ("clock set -z 'a b' | xargs clock set", vec!["set -z a b", "set"]),
            ("install clock /usr/bin", vec![]),
            ("true && sudo clock set # now", vec!["set"]),
        ] {
            let calls: Vec<_> = calls(line, "clock").iter().map(|call| call.join(" ")).collect();
            assert_eq!(calls, found, "{line}");
        }
    }

    #[test]
    fn commands_and_flags_that_are_not_there_are_found() {
        for (line, found) in [
            ("set 12:00 --zone=UTC -z UTC", None),
            ("--verbose set noon", None),
            ("--config file set noon", None),
            ("sett", Some("sett")),
            ("set --zon UTC", Some("--zon")),
            ("set --verbose -x", Some("-x")),
            ("set -- --anything", None),
            ("--zone UTC set", Some("--zone")),
            ("COMMAND --help", None),
        ] {
            let call: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(unknown(&grammar(), &call).as_deref(), found, "{line}");
        }
    }
}
