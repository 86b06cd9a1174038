//! `cargo xtask package`: Debian packages of the broker and of `rearctl`, with the pages that the programs write.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::tools::{self, CARGO_DEB, DPKG_DEV};

/// What is packaged; the agent comes as an image.
const PROGRAMS: [&str; 2] = ["rear-broker", "rearctl"];

const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// How the programs are built, and where that and the packages are below the target folder.
struct Way {
    builds: &'static [&'static str],
    built: &'static str,
    deb: &'static str,
    packages: &'static str,
}

const RELEASE: Way = Way {
    builds: &[
        "cargo build --locked --release --package rear-broker --bin rear-broker --features etcd",
        "cargo build --locked --release --package rearctl --bin rearctl",
    ],
    built: "release",
    deb: "cargo deb --locked --no-build",
    packages: "debian",
};

const AS_TESTS: Way = Way {
    // With any example, cargo chooses the features of dependencies as it does for tests, which are there already.
    builds: &[
        "cargo build --locked --profile test --all-features --bin rear-broker --bin rearctl --example place",
    ],
    built: "debug",
    deb: "cargo deb --locked --no-build --profile dev --fast",
    packages: "debian-as-tests",
};

pub(crate) fn run(root: &Path, as_tests: bool) -> Result<(), Failed> {
    tools::require(root, &[&CARGO_DEB, &DPKG_DEV]).map_err(|missing| {
        eprintln!("error: {missing}");
        Failed
    })?;
    let way = if as_tests { AS_TESTS } else { RELEASE };
    let target = target(root);
    let (built, packages) = (target.join(way.built), target.join(way.packages));
    for build in way.builds {
        Invocation::new(build).run(root)?;
    }
    for program in PROGRAMS {
        write_pages(root, &built, program)?;
        let output = ["--output".to_owned(), format!("{}/", packages.display())];
        Invocation::new(&format!("{} --package {program}", way.deb)).with(&output).run(root)?;
    }
    Ok(())
}

/// As cargo decides it, unless a configuration file of cargo says otherwise.
fn target(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// Manual pages and completions, where the package looks for them.
fn write_pages(root: &Path, built: &Path, program: &str) -> Result<(), Failed> {
    let pages = built.join("pages");
    let executable = built.join(program).display().to_string();
    let man = pages.join("man").display().to_string();
    Invocation::new("").with(&[executable.clone(), "man".to_owned(), man]).run(root)?;
    for shell in SHELLS {
        let words = [executable.clone(), "completion".to_owned(), shell.to_owned()];
        let script = Invocation::new("").with(&words).output(root).ok_or(Failed)?;
        let file = pages.join(format!("{program}.{shell}"));
        fs::write(&file, script).map_err(|error| {
            eprintln!("error: {}: {error}", file.display());
            Failed
        })?;
    }
    Ok(())
}
