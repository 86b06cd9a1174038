//! Rust files that no `mod` declares: they look like code, and no compiler reads them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::finding::Finding;
use super::modules::{SourceFile, declared_files};
use super::packages::{owner, packages};
use super::targets::target_roots;
use super::tree::{Tree, normalised};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let packages = packages(tree);
    let roots = packages.iter().flat_map(|package| target_roots(tree, package));
    let compiled = compiled_files(tree, roots);
    tree.texts_with_extension("rs")
        .filter(|(path, _)| owner(&packages, path).is_some() && !compiled.contains(*path))
        .map(|(path, _)| {
            Finding::new(path, 1, "no `mod` declares this file", "declare it, or delete it")
        })
        .collect()
}

/// Follows the declarations from the first file of each target.
fn compiled_files(tree: &Tree, roots: impl Iterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let mut next: Vec<_> = roots.map(|path| SourceFile { path, beside: true }).collect();
    let mut seen = BTreeSet::new();
    while let Some(file) = next.pop() {
        let Some(text) = tree.text(&file.path) else {
            continue;
        };
        if seen.insert(file.clone()) {
            next.extend(declared_files(&file, text).into_iter().filter_map(|declared| {
                Some(SourceFile { path: normalised(&declared.path)?, ..declared })
            }));
        }
    }
    seen.into_iter().map(|file| file.path).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    const MANIFEST: (&str, &str) = ("p/Cargo.toml", "[package]\nname = \"p\"\n");

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let planted = Planted::new(&[&[MANIFEST], files].concat());
        shown(&check(&Tree::walked(planted.root())))
    }

    #[test]
    fn a_file_that_nothing_declares_is_found() {
        let findings = found(&[
            ("p/src/lib.rs", "mod a;\n// mod lost;\n"),
            ("p/src/a.rs", ""),
            ("p/src/lost.rs", ""),
        ]);
        assert_eq!(
            findings,
            ["p/src/lost.rs:1: no `mod` declares this file: declare it, or delete it"]
        );
    }

    #[test]
    fn both_layouts_of_a_module_with_submodules_are_followed() {
        let findings = found(&[
            ("p/src/main.rs", "mod a;\npub(crate) mod b;\n#[path = \"odd.rs\"]\nmod c;\n"),
            ("p/src/a.rs", "mod part;"),
            ("p/src/a/part.rs", ""),
            ("p/src/b/mod.rs", "pub mod part;"),
            ("p/src/b/part.rs", ""),
            ("p/src/odd.rs", "mod beside;"),
            ("p/src/beside.rs", ""),
        ]);
        assert_eq!(findings, [""; 0]);
    }

    #[test]
    fn a_module_in_the_wrong_directory_is_found() {
        let findings = found(&[
            ("p/src/lib.rs", "mod a;"),
            ("p/src/a.rs", "mod part;"),
            ("p/src/part.rs", ""),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("p/src/part.rs:1:"));
    }

    #[test]
    fn a_forgotten_part_of_an_integration_test_is_found() {
        let findings = found(&[
            ("p/tests/all/main.rs", "mod one;"),
            ("p/tests/all/one.rs", ""),
            ("p/tests/all/two.rs", ""),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("p/tests/all/two.rs:1:"));
    }

    #[test]
    fn files_outside_of_every_package_are_not_ours() {
        assert_eq!(found(&[("docs/sketch.rs", "")]), [""; 0]);
    }
}
