//! Every combination of a library's features compiles: users choose one that nobody here builds every day.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;

/// Libraries with features that their users choose, and the combinations of them.
const COMBINATIONS: &[(&str, &[&str])] = &[
    ("rear-api", &["", "openapi", "resources", "openapi,resources"]),
    ("rear-store", &["", "etcd", "failpoints", "etcd,failpoints"]),
    (
        "rear-agent-sdk",
        &[
            "",
            "http",
            "kubernetes",
            "daemon",
            "testing",
            "http,daemon",
            "http,testing",
            "http,kubernetes,testing",
        ],
    ),
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
