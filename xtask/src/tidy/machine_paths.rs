//! Paths that exist on somebody's machine only, in any text file.

use super::finding::Finding;
use super::tree::Tree;

/// Each is put together from parts, so that this file holds none of them.
const DIRECTORIES: &[&str] = &[concat!("/", "work/"), concat!("/", "root/"), concat!("/", "farm/")];

/// The directories that hold one directory for each person.
const HOMES: &[&str] = &[concat!("/", "home/"), concat!("/", "Users/")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (number, line) in (1..).zip(text.lines()) {
            findings.extend(machine_path(line).map(|found| {
                Finding::new(
                    path,
                    number,
                    format!("`{found}` is a path of one machine"),
                    "use a path relative to the project, or a variable",
                )
            }));
        }
    }
    findings
}

/// The first machine path of the line.
fn machine_path(line: &str) -> Option<&str> {
    let directories = DIRECTORIES.iter().flat_map(|directory| absolute(line, directory));
    let homes =
        HOMES.iter().flat_map(|homes| absolute(line, homes)).filter(|path| names_a_person(path));
    directories.chain(homes).map(shortened).next()
}

/// Everything from each place on where the directory stands as an absolute path.
fn absolute<'a>(line: &'a str, directory: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(directory)
        .filter(|(at, _)| is_start_of_path(&line[..*at]))
        .map(|(at, _)| &line[at..])
}

/// After a name, a dot or the end of a variable the path goes on; it did not begin.
fn is_start_of_path(before: &str) -> bool {
    let goes_on = |last: char| last.is_alphanumeric() || "_-.~/})*".contains(last);
    before.ends_with("file://") || !before.ends_with(goes_on)
}

/// `home` is followed by a name and by something in it.
fn names_a_person(path: &str) -> bool {
    let mut parts = path.split('/').skip(2);
    let name = parts.next().unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    !name.is_empty() && name.chars().all(is_name) && parts.next().is_some()
}

/// The path without what stands after it.
fn shortened(path: &str) -> &str {
    let is_path = |c: char| c.is_alphanumeric() || "/_-.".contains(c);
    path.split(|c| !is_path(c)).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_machine_path_is_found_in_any_text_file() {
        let script = concat!("#!/bin/sh\ncd /", "work/main && ls\n");
        let planted = Planted::new(&[(".ci/run", script)]);
        assert_eq!(
            shown(&check(&Tree::walked(planted.root()))),
            [concat!(
                ".ci/run:2: `/",
                "work/main` is a path of one machine: ",
                "use a path relative to the project, or a variable"
            )]
        );
    }

    #[test]
    fn every_way_to_write_one_is_found() {
        for line in [
            concat!("/", "root/.config"),
            concat!("\"/", "farm/cache\""),
            concat!("see file:///", "home/alice/notes.md"),
            concat!("PATH=/", "home/alice.b/bin:/bin"),
            concat!("(/", "Users/alice/x)"),
        ] {
            assert!(machine_path(line).is_some(), "{line}");
        }
    }

    #[test]
    fn paths_that_only_look_alike_are_fine() {
        for line in [
            concat!("https://example.org/", "work/list"),
            concat!("docs/", "work/plan.md and ../", "root/x"),
            concat!("$HOME/", "work/x and ${HOME}/", "work/x and ~/", "work/x"),
            concat!("/", "homework/x and /", "rooted/x"),
            concat!("/", "home/ and /", "home/<name>/x and /", "home/$USER/x"),
            "GET /v1/clusters/",
        ] {
            assert_eq!(machine_path(line), None, "{line}");
        }
    }
}
