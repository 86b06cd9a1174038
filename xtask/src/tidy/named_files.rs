//! Files and folders of the project that a document names are there, so that a map stays a map.
//!
//! A name stands between backticks in prose, or in the first column of a map: a fenced `text` of `ARCHITECTURE.md`.

use std::path::Path;

use super::finding::Finding;
use super::tree::Tree;

/// The page whose fenced texts are maps of modules.
const MAP: &str = "ARCHITECTURE.md";
/// What tells of other times: names in it were right when they were written.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/adr/"];
/// Folders that programs make, and that git does not know.
const MADE: [&str; 1] = ["fuzz/artifacts/"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with_extension("md") {
        if HISTORY.iter().any(|history| path.starts_with(history)) {
            continue;
        }
        for (line, name) in named(path == Path::new(MAP), text) {
            if !is_there(tree, &name) {
                let what = format!("there is no `{name}`");
                findings.push(Finding::new(path, line, what, "name the file as it is called now"));
            }
        }
    }
    findings
}

/// Every name of a file, with its line.
fn named(is_map: bool, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (fence, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language),
            (Some(_), Some("")) => fence = None,
            (Some("text"), _) if is_map => {
                found.extend(modules(line).into_iter().map(|name| (number, name)));
            }
            (None, None) => {
                let spans = line.split('`').skip(1).step_by(2).filter(|span| is_file_name(span));
                found.extend(spans.flat_map(alternatives).map(|name| (number, name)));
            }
            _ => {}
        }
    }
    found
}

/// Code, or a path from the root; neither patterns nor placeholders.
fn is_file_name(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-{},".contains(c);
    let is_rust = span.strip_suffix(".rs").is_some_and(|name| !name.is_empty());
    span.chars().all(plain)
        && (is_rust || is_below_root(span))
        && !has_placeholder(span)
        && !MADE.contains(&span)
}

/// The folders of the project that documents name whole paths of.
fn is_below_root(span: &str) -> bool {
    let first = span.split_once('/').map(|(first, _)| first);
    let ours = ["benches", "deploy", "docs", "fuzz", "packaging", "testbed", "xtask", "rearctl"];
    first.is_some_and(|first| {
        ours.contains(&first) || (first.starts_with("rear-") && !span.starts_with("rear-agent/v"))
    })
}

fn has_placeholder(span: &str) -> bool {
    span.split(['/', '.'])
        .any(|part| part.len() > 2 && part.chars().all(|c| c.is_ascii_uppercase()))
}

/// The modules of a line of a map: what stands before the first gap, `a/{b,c}` as two.
fn modules(line: &str) -> Vec<String> {
    let names = line.trim_start().split("  ").next().unwrap_or_default();
    names.split(' ').filter(|name| !name.is_empty()).flat_map(alternatives).collect()
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn alternatives(name: &str) -> Vec<String> {
    let parts = name.split_once('{').and_then(|(before, rest)| {
        let (choices, after) = rest.split_once('}')?;
        Some(choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect())
    });
    parts.unwrap_or_else(|| vec![name.to_owned()])
}

/// As a path from the root, or as the end of one; a module is a file or a folder of that name.
fn is_there(tree: &Tree, name: &str) -> bool {
    let name = name.trim_end_matches('/');
    tree.files().any(|file| {
        let file = file.to_string_lossy();
        let file = format!("/{file}");
        file.ends_with(&format!("/{name}"))
            || file.ends_with(&format!("/{name}.rs"))
            || file.contains(&format!("/{name}/"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    fn found(page: &str, text: &str) -> Vec<String> {
        let planted = Planted::new(&[
            (page, text),
            ("rear-engine/src/decide/reserve.rs", ""),
            ("rear-engine/src/ledger.rs", ""),
            ("deploy/agent/crds/all.yaml", ""),
        ]);
        shown(&check(&Tree::walked(planted.root())))
    }

    #[test]
    fn a_name_that_is_no_file_is_found_at_its_line() {
        assert_eq!(
            found("docs/a.md", "See `decide/reserve.rs`\nand `decide/release.rs`.\n"),
            ["docs/a.md:2: there is no `decide/release.rs`: name the file as it is called now"]
        );
    }

    #[test]
    fn names_that_are_there_pass() {
        for text in [
            "`ledger.rs` `rear-engine/src/ledger.rs` `rear-engine/` `deploy/agent/crds`",
            "`decide/{reserve}.rs` `rear-engine/src/NAME.rs` `docs/adr/*`",
            "`cmd/main.go` `.rs` `a.rs b.rs` `x/y`",
            "```console\ncat none.rs\n```",
        ] {
            assert_eq!(found("docs/a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_map_names_modules_and_history_may_name_what_is_gone() {
        let map = "```text\nledger decide/{reserve,expire}   what they do with none\n  deploy/   x\n```\n";
        assert_eq!(
            found("ARCHITECTURE.md", map),
            ["ARCHITECTURE.md:2: there is no `decide/expire`: name the file as it is called now"]
        );
        assert_eq!(found("docs/a.md", map), [""; 0]);
        assert_eq!(found("CHANGELOG.md", "`gone.rs`"), [""; 0]);
    }
}
