//! The workspace's own programs, for the tests of other crates: cargo tells tests the paths of their own crate's alone.
//!
//! They are built with what the tests that ask were built with, so that there is one build of everything. The feature
//! `clusters` says which: the suites that have it have all features of the workspace.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the workspace, built now unless it is there.
///
/// # Panics
/// If it does not build.
#[expect(clippy::must_use_candidate, reason = "some only want it to be there")]
pub fn program(name: &str) -> PathBuf {
    build("--bin", name);
    folder().join(name)
}

/// An example of the workspace, built now unless it is there.
///
/// # Panics
/// If it does not build.
#[expect(clippy::must_use_candidate, reason = "some only want it to be there")]
pub fn example(name: &str) -> PathBuf {
    build("--example", name);
    folder().join("examples").join(name)
}

fn build(kind: &str, name: &str) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--workspace", "--profile=test", kind, name]);
    // With any example, cargo chooses the features of dependencies as it does for tests.
    cargo.args(["--example", "place"]);
    if cfg!(feature = "clusters") {
        cargo.arg("--all-features");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = cargo.current_dir(root).status();
    assert!(status.is_ok_and(|status| status.success()), "{name} does not build");
}

/// Where cargo puts programs: above the tests' own.
fn folder() -> PathBuf {
    let test = env::current_exe().expect("a test knows its own program");
    let folder = test.ancestors().nth(2).expect("a test lies in a folder below the programs");
    folder.to_owned()
}
