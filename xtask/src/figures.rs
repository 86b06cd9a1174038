//! Every figure of `docs/figures.md`, measured anew.

use std::path::Path;

use crate::evaluate;
use crate::failed::Failed;
use crate::invocation::Invocation;

/// Built before the evaluation, which measures them where they are.
const OF_OTHER_PROFILES: [&str; 2] = [
    "cargo build --locked --profile small --package rear-agent-sdk --example host_agent",
    "cargo build --locked --profile profiling --package rear-broker --bins",
];

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    OF_OTHER_PROFILES.iter().try_for_each(|build| Invocation::new(build).run(root))?;
    evaluate::run(root, &["--everything".to_owned()])
}
