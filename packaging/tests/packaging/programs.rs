//! The programs, built by the same cargo as these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::tree::root;

/// The broker.
pub(crate) fn broker() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("rear-broker"))
}

/// The agent.
pub(crate) fn agent() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("rear-agent"))
}

/// Where programs as tests build them are.
pub(crate) fn folder() -> PathBuf {
    broker().parent().unwrap().to_owned()
}

/// Tests are not given the paths of another crate's programs.
fn built(name: &str) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--profile=test", "--quiet"])
        .args(["--message-format=json-render-diagnostics", "--package", name, "--bin", name])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(built.status.success(), "{name} does not build");
    let told = String::from_utf8(built.stdout).unwrap();
    let executable = told.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        message["executable"].as_str().map(PathBuf::from)
    });
    executable.expect("cargo names the program that it has built")
}
