//! `cargo xtask tidy`: checks of the tree that a compiler does not make.
//!
//! Each check reads the [`Tree`] and returns what it found; a further check is one more
//! entry of [`CHECKS`].

mod arrows;
mod code_only;
mod declarations;
mod dependencies;
mod finding;
mod leftovers;
mod links;
mod machine_paths;
mod module_docs;
mod modules;
mod named_files;
mod orphans;
mod own_commands;
mod packages;
mod targets;
mod toml;
mod tree;

use std::path::Path;

use crate::failed::Failed;

use self::finding::Finding;
use self::tree::Tree;

const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    arrows::check,
    orphans::check,
    module_docs::check,
    machine_paths::check,
    leftovers::check,
    links::check,
    named_files::check,
    own_commands::check,
];

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    let tree = Tree::of(root);
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    let files = tree.files().count();
    println!("tidy: {} findings in {files} files", findings.len());
    if findings.is_empty() { Ok(()) } else { Err(Failed) }
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn every_check_takes_part_and_the_findings_are_in_order() {
        let planted = Planted::new(&[
            ("README.md", concat!("[map](none.md)\ncd /", "work/main\n")),
            ("odd/Cargo.toml", "[package]\nname = \"odd\"\n"),
            ("odd/src/lib.rs", "//! Fine.\nfn f() { todo!() }\n"),
            ("odd/src/lost.rs", ""),
        ]);
        let shown = finding::shown(&findings(&Tree::walked(planted.root())));
        let places: Vec<_> =
            shown.iter().map(|line| line.split(": ").next().unwrap_or_default()).collect();
        assert_eq!(
            places,
            [
                "README.md:1",
                "README.md:2",
                "odd/Cargo.toml:1",
                "odd/src/lib.rs:2",
                "odd/src/lost.rs:1",
                "odd/src/lost.rs:1",
            ]
        );
    }
}
