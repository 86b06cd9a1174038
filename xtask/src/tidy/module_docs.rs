//! Every source file opens with one sentence that tells what lives there.

use std::path::{Component, Path};

use super::code_only::code_only;
use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts_with_extension("rs")
        .filter(|(path, text)| is_source(path) && !opens_with_docs(text))
        .map(|(path, _)| {
            Finding::new(
                path,
                1,
                "the file does not say what lives in it",
                "begin it with a `//!` sentence",
            )
        })
        .collect()
}

fn is_source(path: &Path) -> bool {
    path.components().any(|component| component == Component::Normal("src".as_ref()))
}

fn opens_with_docs(text: &str) -> bool {
    let opening = after_preamble(text);
    let sentence = opening.strip_prefix("//!").or_else(|| opening.strip_prefix("/*!"));
    sentence.is_some_and(|rest| rest.lines().next().is_some_and(|line| !line.trim().is_empty()))
}

/// What follows a licence in plain comments and attributes of the file.
fn after_preamble(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(length) = preamble_length(rest) {
        rest = rest[length..].trim_start();
    }
    rest
}

fn preamble_length(rest: &str) -> Option<usize> {
    let is_docs = ["//!", "///", "/*!", "/**"].iter().any(|mark| rest.starts_with(mark));
    if is_docs {
        None
    } else if rest.starts_with("//") || (rest.starts_with("#!") && !rest.starts_with("#![")) {
        Some(rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        rest.find("*/").map(|end| end + "*/".len())
    } else if rest.starts_with("#![") {
        attribute_length(rest)
    } else {
        None
    }
}

/// Attributes may hold brackets and span lines.
fn attribute_length(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in code_only(rest).char_indices() {
        match character {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(at + 1),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_source_file_without_docs_is_found() {
        let planted = Planted::new(&[
            ("a/src/lib.rs", "//! Fine.\n"),
            ("a/src/inner/bare.rs", "use std::fs;\n//! Too late.\n"),
            ("a/tests/main.rs", "mod cases;\n"),
        ]);
        assert_eq!(
            shown(&check(&Tree::walked(planted.root()))),
            ["a/src/inner/bare.rs:1: the file does not say what lives in it: \
              begin it with a `//!` sentence"]
        );
    }

    #[test]
    fn a_licence_and_attributes_may_stand_before_the_docs() {
        for text in [
            "//! Fine.",
            "\n// Licence\n// more\n\n//! Fine.",
            "/* Licence\n */\n//! Fine.",
            "#![allow(\n    a, // [x]\n    reason = \"b\"\n)]\n#![no_std]\n//! Fine.",
            "#![doc(alias = \"]\")] //! Fine.",
            "#!/usr/bin/env run\n//! Fine.",
            "/*! Fine. */",
        ] {
            assert!(opens_with_docs(text), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_docs_does_not_count() {
        for text in [
            "",
            "//!\n//! Late.",
            "/// Of an item.\nfn a() {}",
            "// Licence",
            "fn a() {}",
            "#![open",
        ] {
            assert!(!opens_with_docs(text), "{text}");
        }
    }
}
