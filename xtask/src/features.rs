//! A library compiles with any of its features: users choose combinations that nobody here builds every day.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;

/// Libraries with features that their users choose: none of them, and each alone. All together are what clippy looks at anyway.
const COMBINATIONS: &[(&str, &[&str])] = &[
    ("rear-api", &["", "openapi", "resources"]),
    ("rear-store", &["", "etcd", "failpoints"]),
    ("rear-agent-sdk", &["", "http", "kubernetes", "daemon", "testing"]),
    ("rear-broker", &["", "etcd"]),
];

/// Checks, and does not build: what is wrong with a combination is found by the compiler's first half.
pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    for (package, combinations) in COMBINATIONS {
        for features in *combinations {
            println!("{package} with features [{features}]");
            command(package, features).run(root)?;
        }
    }
    Ok(())
}

fn command(package: &str, features: &str) -> Invocation {
    let chosen =
        if features.is_empty() { String::new() } else { format!(" --features {features}") };
    Invocation::new(&format!(
        "cargo clippy --locked --quiet --package {package} --lib --no-default-features{chosen} -- -D warnings"
    ))
}
