//! The project's own commands, reached as `cargo xtask …`: test, setup, tidy, ci, package, evaluate, figures, soak,
//! playground.

#![expect(clippy::print_stdout, reason = "a command-line program talks on standard output")]

mod axe;
mod base_system;
mod ci;
mod evaluate;
mod failed;
mod features;
mod figures;
mod fuzz_corpus;
mod go;
mod invocation;
mod package;
#[cfg(test)]
mod planted;
mod playground;
mod root;
mod setup;
mod small_disk;
mod soak;
mod stopwatch;
mod suites;
mod test;
mod testbed;
mod tidy;
mod tools;

use std::process::ExitCode;

use clap::Parser;

use crate::failed::Failed;

/// The project's own commands.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Command {
    /// Run every test suite this machine can run, and name those it cannot
    Test {
        /// Fail when a suite cannot run on this machine
        #[arg(long)]
        require_all: bool,
    },
    /// Install or build what the suites and the checks need; what is there already is kept
    Setup,
    /// Check what a compiler does not: arrows between crates, orphan files, links, paths
    Tidy,
    /// Run every check of a change: format, lints, tidy, dependencies, docs, all tests
    Ci,
    /// Make the Debian packages, with manual pages and completions, in `target/debian`
    Package {
        /// Package the programs as tests build them: quickly made, to try the packages and not to use them
        #[arg(long)]
        as_tests: bool,
    },
    /// Measure the broker and its agents: every test, or --test NAME; --short, --seed N, --list
    Evaluate {
        /// What the evaluation's own program is given; see `cargo xtask evaluate -- --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure everything that docs/figures.md has, build and tests included: about two hours
    Figures,
    /// A fleet that lives with a broker which is killed, restored and watched: --minutes 30, --seed N
    Soak {
        /// Programs as tests build them, on a machine that has no time for others
        #[arg(long)]
        as_tests: bool,
        /// What the soak is given, such as `--minutes 60`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Clusters with agents and a broker, to try things: up, status, certs, reserve, down
    Playground {
        /// What to do, such as `up --clusters 3`
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    match dispatch(&Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed) => ExitCode::FAILURE,
    }
}

fn dispatch(command: &Command) -> Result<(), Failed> {
    let root = root::workspace_root()?;
    match command {
        Command::Test { require_all } => test::run(&root, *require_all),
        Command::Setup => setup::run(&root),
        Command::Tidy => tidy::run(&root),
        Command::Ci => ci::run(&root),
        Command::Package { as_tests } => package::run(&root, *as_tests),
        Command::Evaluate { arguments } => evaluate::run(&root, arguments),
        Command::Figures => figures::run(&root),
        Command::Soak { as_tests, arguments } => soak::run(&root, *as_tests, arguments),
        Command::Playground { arguments } => playground::run(&root, arguments),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Command::command().debug_assert();
    }

    #[test]
    fn require_all_is_off_unless_asked() {
        let asked = |words: &[&str]| match Command::parse_from(words) {
            Command::Test { require_all } => require_all,
            _ => panic!("expected the test command"),
        };
        assert!(!asked(&["xtask", "test"]));
        assert!(asked(&["xtask", "test", "--require-all"]));
    }

    #[test]
    fn what_the_evaluation_is_asked_is_handed_on() {
        match Command::parse_from(["xtask", "evaluate", "--test", "latency", "--short"]) {
            Command::Evaluate { arguments } => {
                assert_eq!(arguments, ["--test", "latency", "--short"]);
            }
            _ => panic!("expected the evaluation"),
        }
    }

    #[test]
    fn what_the_soak_is_asked_is_handed_on() {
        match Command::parse_from(["xtask", "soak", "--as-tests", "--minutes", "5", "--seed", "2"])
        {
            Command::Soak { as_tests, arguments } => {
                assert!(as_tests);
                assert_eq!(arguments, ["--minutes", "5", "--seed", "2"]);
            }
            _ => panic!("expected the soak"),
        }
    }

    #[test]
    fn what_the_playground_is_asked_is_handed_on() {
        match Command::parse_from(["xtask", "playground", "up", "--clusters", "2"]) {
            Command::Playground { arguments } => assert_eq!(arguments, ["up", "--clusters", "2"]),
            _ => panic!("expected the playground"),
        }
    }
}
