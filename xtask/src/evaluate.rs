//! The evaluation: everything that it measures is built optimised, then its own program is run.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::tools::{self, PROTOC, PROTOC_TYPES};

/// What is evaluated, and what evaluates it.
const BUILD: [&str; 4] = [
    "cargo build --locked PROFILE --package rear-broker --bins ETCD",
    "cargo build --locked PROFILE --package rear-agent-sdk --example host_agent",
    "cargo build --locked PROFILE --package rear-agent --features clusters --bins --example figures",
    "cargo build --locked PROFILE --package rear-evaluation --bins",
];
const RUN: &str = "cargo run --locked PROFILE --quiet --package rear-evaluation --";

/// A short run measures nothing: programs as tests are built are often there already.
fn profile(arguments: &[String]) -> &'static str {
    let short = arguments.iter().any(|argument| argument == "--short");
    if short { "--profile test" } else { "--release" }
}

/// Brokers that share a ledger, where they can be built.
fn etcd(can_be_built: bool) -> &'static str {
    if can_be_built { "--features etcd" } else { "" }
}

/// What only looks at what is there.
fn needs_programs(arguments: &[String]) -> bool {
    !arguments.iter().any(|argument| ["--list", "--render", "--help", "-h"].contains(&&**argument))
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failed> {
    let etcd = etcd(tools::require(root, &[&PROTOC, &PROTOC_TYPES]).is_ok());
    let line = |line: &str| {
        let line = line.replace("PROFILE", profile(arguments)).replace("ETCD", etcd);
        Invocation::new(&line)
    };
    if needs_programs(arguments) {
        BUILD.iter().try_for_each(|build| line(build).run(root))?;
    }
    line(RUN).with(arguments).run(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_optimised_and_what_only_tries_is_not() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(profile(&words(&["--test", "latency"])), "--release");
        assert_eq!(profile(&words(&["--short"])), "--profile test");
        assert!(needs_programs(&words(&[])) && !needs_programs(&words(&["--list"])));
    }
}
