//! The programs, built as these tests are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rear_testbed::programs::program;

/// The broker.
pub(crate) fn broker() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program("rear-broker"))
}

/// The agent.
pub(crate) fn agent() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program("rear-agent"))
}

/// Where programs as tests build them are.
pub(crate) fn folder() -> PathBuf {
    broker().parent().unwrap().to_owned()
}
