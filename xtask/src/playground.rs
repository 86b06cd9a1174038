//! The playground is a program of the agent, which has the clients that it needs: built and run here.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::testbed;
use crate::tools;

/// What runs in it, and what runs it: built as tests are, which is often there already.
const BUILD: &str = "cargo build --locked --profile test --all-features --bin rear-broker --bin rear-agent --example playground";
const RUN: &str =
    "cargo run --locked --profile test --all-features --quiet --example playground --";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failed> {
    if arguments.first().is_some_and(|first| first == "up") {
        let all = tools::require_for_all_features(root, &[]);
        all.and_then(|()| testbed::cluster_is_there(root)).map_err(|missing| {
            eprintln!("error: {missing}");
            Failed
        })?;
        Invocation::new(BUILD).run(root)?;
    }
    Invocation::new(RUN).with(arguments).run(root)
}
