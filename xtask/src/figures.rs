//! Every figure of `docs/figures.md`, measured anew.

use std::path::Path;

use crate::evaluate;
use crate::failed::Failed;
use crate::invocation::Invocation;

/// Built before the evaluation, which looks where its time goes.
const WITH_LINE_TABLES: &str =
    "cargo build --locked --profile profiling --package rear-broker --bins";

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    Invocation::new(WITH_LINE_TABLES).run(root)?;
    evaluate::run(root, &["--everything".to_owned()])
}
