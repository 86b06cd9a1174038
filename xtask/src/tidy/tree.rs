//! The files of the project: those git knows or would add, or all of them without git.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::invocation::Invocation;

/// Directories of built or fetched things, which a walk leaves out.
const NOT_OURS: &[&str] = &[".git", "target", "node_modules"];

/// Every file by its path below the root, with its text where it is text.
pub(super) struct Tree {
    files: BTreeMap<PathBuf, Option<String>>,
}

impl Tree {
    pub(super) fn of(root: &Path) -> Self {
        let listing = Invocation::new("git ls-files -z --cached --others --exclude-standard");
        match listing.output(root) {
            Some(listed) => Self::read(root, listed_paths(&listed)),
            None => Self::walked(root),
        }
    }

    /// Every file below the directory, whatever git thinks of it.
    pub(super) fn walked(root: &Path) -> Self {
        Self::read(root, walked_paths(root))
    }

    /// A file that git lists but the disk lacks has been deleted: it is left out.
    fn read(root: &Path, paths: BTreeSet<PathBuf>) -> Self {
        let files = paths.into_iter().filter_map(|path| {
            let content = fs::read(root.join(&path)).ok()?;
            Some((path, text(content)))
        });
        Self { files: files.collect() }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    pub(super) fn contains(&self, file: &Path) -> bool {
        self.files.contains_key(file)
    }

    pub(super) fn has_directory(&self, directory: &Path) -> bool {
        self.files().any(|file| file.starts_with(directory))
    }

    /// The text of a file, or nothing for one that is missing or not text.
    pub(super) fn text(&self, file: &Path) -> Option<&str> {
        self.files.get(file)?.as_deref()
    }

    /// Every text file.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_path(), text.as_deref()?)))
    }

    /// Every text file whose name has this extension.
    pub(super) fn texts_with_extension(
        &self,
        extension: &'static str,
    ) -> impl Iterator<Item = (&Path, &str)> {
        self.texts().filter(move |(path, _)| path.extension() == Some(OsStr::new(extension)))
    }
}

fn text(content: Vec<u8>) -> Option<String> {
    if content.contains(&0) { None } else { String::from_utf8(content).ok() }
}

fn listed_paths(listed: &str) -> BTreeSet<PathBuf> {
    listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

fn walked_paths(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            // Not followed: a link to a directory above would never end.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !NOT_OURS.iter().any(|skipped| name == OsStr::new(skipped)) {
                    directories.push(path);
                }
            } else if let Ok(below) = path.strip_prefix(root) {
                found.insert(below.to_path_buf());
            }
        }
    }
    found
}

/// The path without `.` and `..`, by its words alone; nothing when it leaves the tree.
pub(super) fn normalised(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn the_listing_of_git_may_hold_any_name() {
        assert_eq!(listed_paths("a b.md\0src/ü.rs\0"), paths(&["a b.md", "src/ü.rs"]));
    }

    #[test]
    fn a_walk_finds_hidden_files_and_leaves_out_built_ones() {
        let planted = Planted::new(&[
            ("README.md", ""),
            (".ci/run", ""),
            ("a/b/c.rs", ""),
            ("target/debug/x.rs", ""),
            ("fuzz/target/y.rs", ""),
            (".git/config", ""),
        ]);
        assert_eq!(walked_paths(planted.root()), paths(&["README.md", ".ci/run", "a/b/c.rs"]));
    }

    #[test]
    fn binary_and_deleted_files_have_no_text() {
        let planted = Planted::new(&[("a.txt", "words")]);
        planted.write("zero.bin", b"a\0b");
        planted.write("latin.txt", b"caf\xe9");
        let tree =
            Tree::read(planted.root(), paths(&["a.txt", "zero.bin", "latin.txt", "deleted.rs"]));
        assert_eq!(tree.texts().collect::<Vec<_>>(), [(Path::new("a.txt"), "words")]);
        assert!(tree.contains(Path::new("zero.bin")));
        assert!(!tree.contains(Path::new("deleted.rs")));
    }

    #[test]
    fn a_directory_is_there_when_a_file_below_it_is() {
        let planted = Planted::new(&[("docs/adr/0001.md", "")]);
        let tree = Tree::walked(planted.root());
        assert!(tree.has_directory(Path::new("docs")));
        assert!(!tree.has_directory(Path::new("doc")));
    }

    #[test]
    fn paths_are_normalised_inside_the_tree_only() {
        assert_eq!(normalised(Path::new("a/./b/../c.md")), Some(PathBuf::from("a/c.md")));
        assert_eq!(normalised(Path::new("a/../../c.md")), None);
    }
}
