//! Wherever `cargo xtask …` is written, in documents, workflows and scripts, it is a command that there is.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory;

use super::finding::Finding;
use super::tree::Tree;

const CALLED: &str = "cargo xtask ";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let grammar = crate::Command::command();
    let known: BTreeSet<_> = grammar.get_subcommands().map(clap::Command::get_name).collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_read(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            for called in commands(line).filter(|called| !known.contains(called)) {
                let what = format!("there is no `{CALLED}{called}`");
                let remedy = "`cargo xtask --help` lists what there is";
                findings.push(Finding::new(path, number, what, remedy));
            }
        }
    }
    findings
}

/// The changelog may tell of what is gone.
fn is_read(path: &Path) -> bool {
    let kind = path.extension().and_then(|extension| extension.to_str());
    path == Path::new(".ci/run")
        || (matches!(kind, Some("md" | "yml" | "yaml" | "sh")) && path != Path::new("CHANGELOG.md"))
}

/// The word after each call; nothing where none follows, or a placeholder does.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let calls = line.match_indices(CALLED).map(|(at, _)| &line[at + CALLED.len()..]);
    let words = calls.map(|rest| {
        rest.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next().unwrap_or_default()
    });
    words.filter(|word| !word.is_empty() && !word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_command_that_is_not_there_is_found() {
        let planted = Planted::new(&[
            ("README.md", "Type `cargo xtask test`, then `cargo xtask tets`.\n"),
            (".ci/run", "cargo xtask setup\ncargo xtask …\n"),
            (".github/workflows/ci.yml", "run: cargo xtask build\n"),
        ]);
        let found = shown(&check(&Tree::walked(planted.root())));
        assert_eq!(
            found,
            [
                ".github/workflows/ci.yml:1: there is no `cargo xtask build`: `cargo xtask --help` lists what there is",
                "README.md:1: there is no `cargo xtask tets`: `cargo xtask --help` lists what there is",
            ]
        );
    }
}
