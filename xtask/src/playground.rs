//! The playground is a program of the agent, which has the clients that it needs: built and run here.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::testbed;

/// What runs in it, and what runs it: built as tests are, which is often there already.
const BUILD: [&str; 2] = [
    "cargo build --locked --profile test --package rear-broker --bins",
    "cargo build --locked --profile test --package rear-agent --features clusters --bins --examples",
];
const RUN: &str = "cargo run --locked --profile test --quiet --package rear-agent --features clusters --example playground --";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failed> {
    if arguments.first().is_some_and(|first| first == "up") {
        testbed::cluster_is_there(root).map_err(|missing| {
            eprintln!("error: {missing}");
            Failed
        })?;
        for build in BUILD {
            Invocation::new(build).run(root)?;
        }
    }
    Invocation::new(RUN).with(arguments).run(root)
}
