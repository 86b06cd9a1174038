//! The packages of the tree: every directory whose `Cargo.toml` has a `[package]`.

use std::path::{Path, PathBuf};

use super::toml::{self, Entry};
use super::tree::Tree;

pub(super) struct Package {
    pub(super) name: String,
    pub(super) directory: PathBuf,
    pub(super) manifest: PathBuf,
    pub(super) entries: Vec<Entry>,
}

impl Package {
    /// The value of a key such as `package.name`.
    pub(super) fn value(&self, key: &[&str]) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    }
}

pub(super) fn packages(tree: &Tree) -> Vec<Package> {
    tree.texts().filter_map(|(path, text)| package(path, text)).collect()
}

fn package(manifest: &Path, text: &str) -> Option<Package> {
    if manifest.file_name()? != "Cargo.toml" {
        return None;
    }
    let entries = toml::entries(text);
    let name = entries.iter().find(|entry| entry.key == ["package", "name"])?.value.clone();
    let directory = manifest.parent()?.to_path_buf();
    Some(Package { name, directory, manifest: manifest.to_path_buf(), entries })
}

/// The package whose directory holds the file most closely.
pub(super) fn owner<'a>(packages: &'a [Package], file: &Path) -> Option<&'a Package> {
    packages
        .iter()
        .filter(|package| file.starts_with(&package.directory))
        .max_by_key(|package| package.directory.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_manifest_without_a_package_is_none() {
        let planted = Planted::new(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/other.toml", "[package]\nname = \"other\"\n"),
        ]);
        let found = packages(&Tree::walked(planted.root()));
        let names: Vec<_> = found.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn a_file_belongs_to_the_innermost_package() {
        let planted = Planted::new(&[
            ("a/Cargo.toml", "[package]\nname = \"outer\"\n"),
            ("a/b/Cargo.toml", "[package]\nname = \"inner\"\n"),
        ]);
        let found = packages(&Tree::walked(planted.root()));
        let name = |file| owner(&found, Path::new(file)).map(|package| package.name.as_str());
        assert_eq!(name("a/b/src/lib.rs"), Some("inner"));
        assert_eq!(name("a/bc/src/lib.rs"), Some("outer"));
        assert_eq!(name("src/lib.rs"), None);
    }
}
