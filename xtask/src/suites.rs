//! The table of test suites that `cargo xtask test` runs.
//!
//! A further suite is one more entry of [`ALL`].

use std::num::NonZero;
use std::path::Path;

use crate::axe;
use crate::base_system;
use crate::fuzz_corpus;
use crate::invocation::Invocation;
use crate::small_disk;
use crate::testbed;
use crate::tools::{
    self, CHROMEDRIVER, CHROMIUM, CURL, FAKETIME, IP, OPENSSL, PROMTOOL, STRACE, SYSTEMD_ANALYZE,
};

/// A set of tests that passes or fails as one.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) shows: &'static str,
    /// Succeeds on a machine that can run the suite; otherwise says what is missing and
    /// the remedy, in one sentence.
    pub(crate) requirement: fn(&Path) -> Result<(), String>,
    /// What to run, in order; an error is a failure of the suite.
    pub(crate) commands: fn(&Path) -> Result<Vec<Invocation>, String>,
}

pub(crate) const ALL: &[Suite] = &[
    Suite {
        name: "workspace",
        shows: "unit and integration tests of every crate",
        requirement: rust_alone,
        commands: |_| {
            one_command("cargo test --locked --workspace --lib --bins --tests --examples")
        },
    },
    Suite {
        name: "docs",
        shows: "the examples in the documentation compile and hold",
        requirement: rust_alone,
        commands: |_| one_command("cargo test --locked --workspace --doc"),
    },
    Suite {
        name: "example",
        shows: "the engine places a reservation as a library user would",
        requirement: rust_alone,
        commands: |_| one_command("cargo run --locked --quiet --profile test --example place"),
    },
    Suite {
        name: "clients",
        shows: "curl and openssl get from the broker what they expect",
        requirement: |root| tools::require_for_all_features(root, &[&CURL, &OPENSSL]),
        commands: |_| {
            let filter = "authority:: development:: upkeep:: curl_speaks sessions_are_not_resumed";
            one_command(&tests("broker", filter))
        },
    },
    Suite {
        name: "browser",
        shows: "the dashboard shows what happens, to everyone, in a real browser",
        requirement: |root| {
            tools::require_for_all_features(root, &[&CHROMIUM, &CHROMEDRIVER, &CURL])?;
            axe::is_there(root)
        },
        commands: |_| one_command(&tests("broker", "dashboard::")),
    },
    Suite {
        name: "operations",
        shows: "systemd accepts the broker's unit, promtool its metrics; a clock at 1970 and a disk that stands still are told",
        requirement: |root| {
            let tools = [&SYSTEMD_ANALYZE, &PROMTOOL, &FAKETIME, &STRACE];
            tools::require_for_all_features(root, &tools)
        },
        commands: |_| one_command(&tests("broker", "operators:: slow_disks::")),
    },
    Suite {
        name: "crowd",
        shows: "ten thousand idle connections cost the broker at most 32 KiB each",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            many_files(root)
        },
        commands: |_| one_command(&tests("broker", "crowd::")),
    },
    Suite {
        name: "small-disk",
        shows: "a full disk loses nothing that was acknowledged",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            small_disk::requirement(root)
        },
        commands: small_disk::commands,
    },
    Suite {
        name: "benches",
        shows: "every benchmark runs once",
        requirement: rust_alone,
        commands: |_| {
            // As tests are built: an optimised build of everything takes longer than the rest together.
            one_command("cargo test --locked --workspace --bench * -- --test")
        },
    },
    Suite {
        name: "evaluation",
        shows: "every test of the evaluation, in seconds: counts and invariants hold",
        requirement: rust_alone,
        commands: |_| {
            one_command(
                "cargo test --locked --workspace --features rear-evaluation/short --test short -- --test-threads 1",
            )
        },
    },
    Suite {
        name: "evaluation-clusters",
        shows: "the evaluation of the Kubernetes agent, beside etcd and on it, in seconds",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            testbed::api_server_is_there(root)
        },
        commands: |_| one_command(&tests("short", "--test-threads 1 clusters::")),
    },
    Suite {
        name: "fuzz-corpus",
        shows: "every fuzz target accepts its committed corpus",
        requirement: fuzz_corpus::requirement,
        commands: fuzz_corpus::commands,
    },
    Suite {
        name: "api-servers",
        shows: "real API servers and etcd for tests: apart, killed, restarted, nothing left",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            testbed::api_server_is_there(root)
        },
        commands: |_| one_command(&tests("clusters", "--skip whole_clusters::")),
    },
    Suite {
        name: "whole-clusters",
        shows: "whole clusters for tests: the pods of a Deployment are scheduled and run",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            testbed::cluster_is_there(root)
        },
        commands: |_| one_command(&tests("clusters", "whole_clusters::")),
    },
    Suite {
        name: "resources",
        shows: "the broker's Kubernetes interface on real API servers: manifests, both sides, kills",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            testbed::api_server_is_there(root)
        },
        commands: |_| one_command(&tests("resources", "--skip shared::")),
    },
    Suite {
        name: "agent",
        shows: "the Kubernetes agent on real API servers: requests, promises, peering, kills",
        requirement: |root| {
            tools::require_for_all_features(root, &[&FAKETIME])?;
            testbed::api_server_with_definitions_is_there(root)
        },
        commands: |_| one_command(&tests("agent", &for_those_who_wait())),
    },
    Suite {
        name: "shared-ledger",
        shows: "three brokers on three nodes of etcd: killed, stopped, cut off, full; nothing is granted twice; one works on the resources",
        requirement: |root| {
            tools::require_for_all_features(root, &[&FAKETIME])?;
            testbed::api_server_is_there(root)
        },
        commands: |_| {
            Ok(vec![
                Invocation::new(&tests("store", "etcd:: journals:: machines::")),
                // Unit tests of what is behind the feature.
                Invocation::new("cargo test --locked --workspace --all-features --lib etcd::"),
                Invocation::new(&tests("broker", "shared:: a_shared_ledger")),
                Invocation::new(&tests("resources", "shared::")),
            ])
        },
    },
    Suite {
        name: "packages",
        shows: "packages and images install, start, upgrade and go, in a small Debian of their own",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            base_system::requirement(root)
        },
        commands: |_| {
            Ok(vec![
                Invocation::new("cargo xtask package --as-tests"),
                Invocation::new(&tests("packaging", "debian:: images::")),
            ])
        },
    },
    Suite {
        name: "charts",
        shows: "the Helm charts render, validate their values, and are what the manifests are",
        requirement: |root| {
            tools::require_for_all_features(root, &[])?;
            testbed::helm_is_there(root)
        },
        commands: |_| one_command(&tests("packaging", "charts::")),
    },
    Suite {
        name: "monitoring",
        shows: "alert rules fire when they should; dashboards ask for metrics that exist",
        requirement: |root| tools::require_for_all_features(root, &[&PROMTOOL, &CURL]),
        commands: |_| one_command(&tests("packaging", "watching::")),
    },
    Suite {
        name: "tutorials",
        shows: "every command of the tutorials does what they say",
        requirement: |root| {
            tools::require_for_all_features(root, &[&IP, &CURL])?;
            testbed::cluster_is_there(root)
        },
        commands: |_| one_command(&tests("packaging", "tutorials::")),
    },
    Suite {
        name: "how-tos",
        shows: "every command of the how-tos does what they say; thirty mistakes have their messages",
        requirement: |root| {
            tools::require_for_all_features(root, &[&IP, &CURL, &FAKETIME, &PROMTOOL])?;
            testbed::cluster_is_there(root)?;
            small_disk::requirement(root)
        },
        commands: |_| one_command(&tests("packaging", "how_tos:: mistakes::")),
    },
];

/// Tests of a crate, as far as the filter lets them through. Always with all features of the whole workspace, so that all suites
/// share one build.
pub(crate) fn tests(name: &str, filter: &str) -> String {
    format!("cargo test --locked --workspace --all-features --test {name} -- {filter}")
}

/// More threads than cores, for tests that mostly wait for servers.
fn for_those_who_wait() -> String {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    format!("--test-threads {}", cores + 1)
}

#[expect(clippy::unnecessary_wraps, reason = "the type that every requirement has")]
fn rust_alone(_root: &Path) -> Result<(), String> {
    Ok(())
}

/// Ten thousand connections at either end, and whatever else is open.
const MANY_FILES: u64 = 12_000;

fn many_files(_root: &Path) -> Result<(), String> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match files {
        Some(files) if files < MANY_FILES => {
            Err(format!("a process may open {files} files: raise that with `ulimit -n 20000`"))
        }
        Some(_) => Ok(()),
        None => Err("how many files may be open is not known here: run it on Linux".to_owned()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the type that every list of commands has")]
fn one_command(line: &str) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::new(line)])
}

#[cfg(test)]
mod coverage;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn suites_have_names_of_their_own() {
        let names: BTreeSet<_> = ALL.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
