//! The soak: the broker and the program that has things happen to it are built, then that program is run.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;

const LINES: [&str; 3] = [
    "cargo build --locked PROFILE --package rear-broker --bins",
    "cargo build --locked PROFILE --package rear-evaluation --bins",
    "cargo run --locked PROFILE --quiet --package rear-evaluation -- soak",
];

pub(crate) fn run(root: &Path, as_tests: bool, arguments: &[String]) -> Result<(), Failed> {
    let profile = if as_tests { "--profile test" } else { "--release" };
    let [broker, soak, run] = LINES.map(|line| Invocation::new(&line.replace("PROFILE", profile)));
    broker.run(root)?;
    soak.run(root)?;
    run.with(arguments).run(root)
}
