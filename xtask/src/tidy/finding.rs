//! What a check reports: a place, what is wrong there, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Sorted by place, so that the findings of a file stand together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    path: PathBuf,
    line: usize,
    what: String,
    remedy: String,
}

impl Finding {
    /// Lines count from one.
    pub(super) fn new(
        path: &Path,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { path: path.to_path_buf(), line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, remedy } = self;
        write!(f, "{}:{line}: {what}: {remedy}", path.display())
    }
}

/// The findings as a user sees them, for tests that compare.
#[cfg(test)]
pub(super) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_shown_as_place_fault_and_remedy() {
        let finding = Finding::new(Path::new("a/b.rs"), 7, "it squeaks", "oil it");
        assert_eq!(finding.to_string(), "a/b.rs:7: it squeaks: oil it");
    }
}
