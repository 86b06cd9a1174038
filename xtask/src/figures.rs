//! Every figure of `docs/figures.md`, measured anew.

use std::path::Path;

use crate::evaluate;
use crate::failed::Failed;
use crate::invocation::Invocation;

/// Built before the evaluation: it measures this one where it is.
const SMALL_AGENT: &str =
    "cargo build --locked --profile small --package rear-agent-sdk --example host_agent";

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    Invocation::new(SMALL_AGENT).run(root)?;
    evaluate::run(root, &["--everything".to_owned()])
}
