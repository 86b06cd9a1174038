//! Which crate may depend on which: the layers of `ARCHITECTURE.md`, enforced.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::dependencies::{Dependency, Kind, dependencies, workspace_renames};
use super::finding::Finding;
use super::packages::{Package, packages};
use super::toml;
use super::tree::Tree;

/// What of ours a crate may depend on.
enum May {
    Use(&'static [&'static str]),
    UseAnything,
}

const ARROWS: &[(&str, May)] = &[
    ("rear-engine", May::Use(&[])),
    ("rear-store", May::Use(&["rear-engine"])),
    ("rear-api", May::Use(&["rear-engine"])),
    ("rear-agent-sdk", May::Use(&["rear-engine", "rear-api"])),
    ("rear-fleet", May::Use(&["rear-engine", "rear-api", "rear-agent-sdk"])),
    (
        "rear-broker",
        May::Use(&["rear-engine", "rear-store", "rear-api", "rear-agent-sdk", "rear-fleet"]),
    ),
    ("rear-agent", May::Use(&["rear-agent-sdk", "rear-api"])),
    ("rearctl", May::Use(&["rear-agent-sdk", "rear-api"])),
    ("rear-packaging", May::UseAnything),
    ("rear-benches", May::UseAnything),
    ("rear-evaluation", May::UseAnything),
    ("rear-fuzz", May::UseAnything),
    ("rear-fuzz-surface", May::UseAnything),
    ("rear-testbed", May::Use(&[])),
    ("xtask", May::Use(&["rear-testbed"])),
];

/// The engine is pure. A list of what it may use cannot be outgrown by new crates that
/// bring a clock, randomness or IO, as a list of what it may not use would be.
const ENGINE: &str = "rear-engine";
const ENGINE_MAY_USE: &[&str] = &["itoa", "rustc-hash", "thiserror"];

/// A package with what it depends on.
struct Crate {
    package: Package,
    dependencies: Vec<Dependency>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let mut findings = Vec::new();
    for of_ours in &crates {
        findings.extend(unknown_crate(of_ours));
        findings.extend(of_ours.dependencies.iter().filter_map(|dependency| {
            forbidden_arrow(of_ours, dependency)
                .or_else(|| impure_engine(of_ours, dependency))
                .or_else(|| cycle(&crates, of_ours, dependency))
        }));
    }
    findings
}

fn crates(tree: &Tree) -> Vec<Crate> {
    let workspace = tree.text(Path::new("Cargo.toml")).map(toml::entries).unwrap_or_default();
    let renames = workspace_renames(&workspace);
    let with_dependencies = |package: Package| Crate {
        dependencies: dependencies(&package.entries, &renames),
        package,
    };
    packages(tree).into_iter().map(with_dependencies).collect()
}

fn arrows_from(name: &str) -> Option<&'static May> {
    ARROWS.iter().find(|(from, _)| *from == name).map(|(_, may)| may)
}

fn unknown_crate(of_ours: &Crate) -> Option<Finding> {
    let name = &of_ours.package.name;
    arrows_from(name).is_none().then(|| {
        Finding::new(
            &of_ours.package.manifest,
            1,
            format!("nothing says what `{name}` may depend on"),
            "add it to the arrows of `cargo xtask tidy`",
        )
    })
}

fn forbidden_arrow(from: &Crate, to: &Dependency) -> Option<Finding> {
    let May::Use(allowed) = arrows_from(&from.package.name)? else {
        return None;
    };
    let ours = arrows_from(&to.package).is_some();
    let fine = to.kind == Kind::Dev || !ours || allowed.contains(&to.package.as_str());
    (!fine).then(|| {
        Finding::new(
            &from.package.manifest,
            to.line,
            format!("`{}` must not depend on `{}`", from.package.name, to.package),
            "move the code to the layer where it belongs",
        )
    })
}

fn impure_engine(from: &Crate, to: &Dependency) -> Option<Finding> {
    let fine = from.package.name != ENGINE
        || to.kind == Kind::Dev
        || ENGINE_MAY_USE.contains(&to.package.as_str());
    (!fine).then(|| {
        Finding::new(
            &from.package.manifest,
            to.line,
            format!("the engine must not depend on `{}`", to.package),
            "take what it gives as an argument: the engine has no IO, clock or randomness",
        )
    })
}

/// Cargo lets dev-dependencies run in a circle; then two crates can only be understood
/// together. A crate that names itself only turns its own features on.
fn cycle(crates: &[Crate], from: &Crate, to: &Dependency) -> Option<Finding> {
    let name = from.package.name.as_str();
    let circular =
        to.kind == Kind::Dev && to.package != name && reachable(crates, &to.package).contains(name);
    circular.then(|| {
        Finding::new(
            &from.package.manifest,
            to.line,
            format!("`{}` depends on `{name}` in turn", to.package),
            "move the test to the crate further up",
        )
    })
}

fn reachable<'a>(crates: &'a [Crate], start: &'a str) -> BTreeSet<&'a str> {
    let by_name: BTreeMap<_, _> =
        crates.iter().map(|of_ours| (of_ours.package.name.as_str(), of_ours)).collect();
    let mut seen = BTreeSet::new();
    let mut next = vec![start];
    while let Some(name) = next.pop() {
        if seen.insert(name)
            && let Some(of_ours) = by_name.get(name)
        {
            next.extend(of_ours.dependencies.iter().map(|to| to.package.as_str()));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    /// Plants one manifest for each crate, given as its name and its tables.
    fn found(crates: &[(&str, &str)]) -> Vec<String> {
        let planted = Planted::new(&[]);
        for (name, tables) in crates {
            let manifest = format!("[package]\nname = \"{name}\"\n{tables}");
            planted.write(&format!("{name}/Cargo.toml"), manifest.as_bytes());
        }
        shown(&check(&Tree::walked(planted.root())))
    }

    #[test]
    fn the_layers_as_designed_pass() {
        let findings = found(&[
            (
                "rear-engine",
                "[dependencies]\nthiserror = \"2\"\n[dev-dependencies]\nproptest = \"1\"",
            ),
            ("rear-store", "[dependencies]\nrear-engine.workspace = true\nredb = \"4\""),
            ("rear-broker", "[dependencies]\nrear-store.workspace = true\ntokio = \"1\""),
            ("rear-benches", "[dependencies]\nrear-broker.workspace = true"),
            ("xtask", "[dependencies]\nclap = \"4\""),
        ]);
        assert_eq!(findings, [""; 0]);
    }

    #[test]
    fn an_arrow_upwards_is_found_at_its_line() {
        let findings = found(&[("rear-store", "[dependencies]\nclap = \"4\"\nrear-api = \"0\"")]);
        assert_eq!(
            findings,
            ["rear-store/Cargo.toml:5: `rear-store` must not depend on `rear-api`: \
              move the code to the layer where it belongs"]
        );
    }

    #[test]
    fn an_arrow_under_another_name_is_found() {
        let findings = found(&[(
            "xtask",
            "[build-dependencies.core]\npackage = \"rear-engine\"\npath = \"..\"",
        )]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("xtask/Cargo.toml:3: `xtask` must not depend on"));
    }

    #[test]
    fn the_engine_may_use_only_its_list() {
        let findings = found(&[(
            "rear-engine",
            "[dependencies]\nrustc-hash = \"2\"\n[target.'cfg(unix)'.dependencies]\nrand = \"1\"",
        )]);
        assert_eq!(
            findings,
            ["rear-engine/Cargo.toml:6: the engine must not depend on `rand`: take what it \
              gives as an argument: the engine has no IO, clock or randomness"]
        );
    }

    #[test]
    fn a_crate_without_arrows_is_found() {
        let findings = found(&[("rear-extra", "")]);
        assert_eq!(
            findings,
            ["rear-extra/Cargo.toml:1: nothing says what `rear-extra` may depend on: \
              add it to the arrows of `cargo xtask tidy`"]
        );
    }

    #[test]
    fn a_test_may_look_upwards_but_not_in_a_circle() {
        let engine = ("rear-engine", "[dev-dependencies]\nrear-store = \"0\"");
        let apart = found(&[engine, ("rear-store", "")]);
        assert_eq!(apart, [""; 0]);
        let circle = found(&[engine, ("rear-store", "[dependencies]\nrear-engine = \"0\"")]);
        assert_eq!(
            circle,
            ["rear-engine/Cargo.toml:4: `rear-store` depends on `rear-engine` in turn: \
              move the test to the crate further up"]
        );
    }

    #[test]
    fn a_crate_may_turn_on_its_own_features_for_its_tests() {
        let itself = ("rear-api", "[dev-dependencies]\nrear-api = { path = \".\" }");
        assert_eq!(found(&[itself]), [""; 0]);
    }
}
