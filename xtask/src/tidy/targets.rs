//! The files with which the targets of a package begin: libraries, programs, tests and the like.

use std::path::{Path, PathBuf};

use super::packages::Package;
use super::tree::{Tree, normalised};

/// A kind of target that Cargo finds by itself in a directory.
struct Discovery {
    table: &'static str,
    directory: &'static str,
    switch: &'static str,
}

const DISCOVERIES: &[Discovery] = &[
    Discovery { table: "bin", directory: "src/bin", switch: "autobins" },
    Discovery { table: "test", directory: "tests", switch: "autotests" },
    Discovery { table: "example", directory: "examples", switch: "autoexamples" },
    Discovery { table: "bench", directory: "benches", switch: "autobenches" },
];

/// The first file of every target, as far as the tree has them.
pub(super) fn target_roots(tree: &Tree, package: &Package) -> Vec<PathBuf> {
    let mut candidates = ["src/lib.rs", "src/main.rs", "build.rs"].map(PathBuf::from).to_vec();
    candidates.extend(named_paths(package).map(PathBuf::from));
    for discovery in DISCOVERIES {
        candidates.extend(named_targets(package, discovery));
        if package.value(&["package", discovery.switch]) != Some("false") {
            candidates.extend(discovered(tree, package, discovery));
        }
    }
    let below_package = |path: PathBuf| normalised(&package.directory.join(path));
    candidates.into_iter().filter_map(below_package).filter(|path| tree.contains(path)).collect()
}

/// `[lib] path`, `[[bin]] path` and the like, and `[package] build`.
fn named_paths(package: &Package) -> impl Iterator<Item = &str> {
    package.entries.iter().filter_map(|entry| {
        let key: Vec<_> = entry.key.iter().map(String::as_str).collect();
        let names_a_file = match key.as_slice() {
            ["lib", "path"] | ["package", "build"] => true,
            [table, _, "path"] => DISCOVERIES.iter().any(|discovery| discovery.table == *table),
            _ => false,
        };
        names_a_file.then_some(entry.value.as_str())
    })
}

/// Where Cargo looks for a target that has a name and no path.
fn named_targets(package: &Package, discovery: &Discovery) -> Vec<PathBuf> {
    let directory = Path::new(discovery.directory);
    package
        .entries
        .iter()
        .filter(|entry| entry.key.len() == 3 && entry.key[0] == discovery.table)
        .filter(|entry| entry.key[2] == "name")
        .flat_map(|entry| {
            let name = &entry.value;
            [directory.join(format!("{name}.rs")), directory.join(name).join("main.rs")]
        })
        .collect()
}

/// `NAME.rs` and `NAME/main.rs` in the directory.
fn discovered(tree: &Tree, package: &Package, discovery: &Discovery) -> Vec<PathBuf> {
    let directory = package.directory.join(discovery.directory);
    tree.files()
        .filter_map(|file| file.strip_prefix(&directory).ok())
        .filter(|below| match below.components().count() {
            1 => below.extension().is_some_and(|extension| extension == "rs"),
            2 => below.ends_with("main.rs"),
            _ => false,
        })
        .map(|below| Path::new(discovery.directory).join(below))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::packages::packages;
    use super::*;
    use crate::planted::Planted;

    /// The roots of a package with this manifest and these files.
    fn roots(manifest: &str, files: &[&str]) -> Vec<String> {
        let planted = Planted::new(&[]);
        planted.write("p/Cargo.toml", format!("[package]\nname = \"p\"\n{manifest}").as_bytes());
        for file in files {
            planted.write(&format!("p/{file}"), b"");
        }
        let tree = Tree::walked(planted.root());
        let mut roots: Vec<_> = target_roots(&tree, &packages(&tree)[0])
            .iter()
            .map(|path| path.strip_prefix("p").expect("below the package").display().to_string())
            .collect();
        roots.sort();
        roots.dedup();
        roots
    }

    #[test]
    fn what_cargo_discovers_is_a_root() {
        let expected = [
            "benches/speed.rs",
            "build.rs",
            "examples/place.rs",
            "src/bin/one.rs",
            "src/bin/two/main.rs",
            "src/lib.rs",
            "src/main.rs",
            "tests/all/main.rs",
            "tests/single.rs",
        ];
        let others = ["src/inner.rs", "src/bin/two/part.rs", "tests/all/part.rs", "tests/data.txt"];
        assert_eq!(roots("", &[&expected[..], &others[..]].concat()), expected);
    }

    #[test]
    fn paths_in_the_manifest_are_roots() {
        let manifest = "build = \"make.rs\"\n[lib]\npath = \"code/root.rs\"\n\
                        [[bin]]\nname = \"a\"\npath = \"a.rs\"\n[[bench]]\nname = \"b\"\npath = \"./b.rs\"\n";
        let files = ["a.rs", "b.rs", "code/other.rs", "code/root.rs", "make.rs"];
        assert_eq!(roots(manifest, &files), ["a.rs", "b.rs", "code/root.rs", "make.rs"]);
    }

    #[test]
    fn without_discovery_only_named_targets_are_roots() {
        let manifest = "autotests = false\n[[test]]\nname = \"all\"\n";
        let files = ["tests/all/main.rs", "tests/forgotten.rs"];
        assert_eq!(roots(manifest, &files), ["tests/all/main.rs"]);
    }
}
