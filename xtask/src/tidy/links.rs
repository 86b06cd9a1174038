//! Relative links of Markdown files lead to files of the project.

use std::path::Path;

use super::finding::Finding;
use super::tree::{Tree, normalised};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with_extension("md") {
        for (number, line) in prose(text) {
            for target in targets(&line).filter(|target| !leads_somewhere(tree, path, target)) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("the link to `{target}` leads nowhere"),
                    "correct the path, or delete the link",
                ));
            }
        }
    }
    findings
}

/// The lines outside of fenced code, numbered, with inline code taken out.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) => lines.push((number, without_code(line))),
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
        }
    }
    lines
}

/// The line without what stands between backticks; an unpaired one is plain text.
fn without_code(line: &str) -> String {
    let parts: Vec<_> = line.split('`').collect();
    let (pairs, unpaired) = if parts.len() % 2 == 1 {
        (parts.as_slice(), None)
    } else {
        (&parts[..parts.len() - 1], parts.last())
    };
    pairs.iter().step_by(2).chain(unpaired).copied().collect()
}

/// What the links and images of a line point to, and the target of a `[name]: target` line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.match_indices("](").filter_map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        target(rest, ')')
    });
    let definition = line
        .trim_start()
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .filter(|(name, _)| !name.contains(']') && !name.starts_with('^'))
        .and_then(|(_, rest)| target(rest.trim_start(), '\n'));
    inline.chain(definition)
}

/// A target may stand in angle brackets, and a title may follow it.
fn target(rest: &str, end: char) -> Option<&str> {
    match rest.strip_prefix('<') {
        Some(bracketed) => bracketed.split_once('>').map(|(target, _)| target),
        None => rest.split(|c: char| c == end || c.is_whitespace()).next(),
    }
}

/// Links to other sites and to headings of the same file are not ours to check.
fn leads_somewhere(tree: &Tree, from: &Path, target: &str) -> bool {
    if target.is_empty()
        || target.starts_with('#')
        || target.starts_with("//")
        || has_scheme(target)
    {
        return true;
    }
    let file = target.split(['#', '?']).next().unwrap_or(target).replace("%20", " ");
    // As on hosting sites, a leading slash means the root of the project.
    let path = match file.strip_prefix('/') {
        Some(from_root) => Path::new(from_root).to_path_buf(),
        None => from.parent().unwrap_or(Path::new("")).join(&file),
    };
    normalised(&path).is_some_and(|path| tree.contains(&path) || tree.has_directory(&path))
}

fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    fn found(text: &str) -> Vec<String> {
        let planted = Planted::new(&[
            ("README.md", ""),
            ("docs/adr/0001 first.md", ""),
            ("docs/guide.md", text),
            ("docs/map.png", ""),
        ]);
        shown(&check(&Tree::walked(planted.root())))
    }

    #[test]
    fn a_link_to_a_missing_file_is_found_at_its_line() {
        assert_eq!(
            found("# Guide\n\nSee [this](README.md#top) and [that](../README.md).\n"),
            ["docs/guide.md:3: the link to `README.md#top` leads nowhere: \
              correct the path, or delete the link"]
        );
    }

    #[test]
    fn every_kind_of_broken_link_is_found() {
        for text in [
            "![image](none.png)",
            "[a](<no file.md>)",
            "[a](none.md \"title\")",
            "[name]: none.md",
            "[a](guide.md) [b](none.md)",
            "[a](../../outside.md)",
            "[![badge](https://x.org/b.svg)](none.md)",
            "a ` stray [a](none.md)",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for text in [
            "[a](guide.md) [b](./map.png) [c](adr) [d](adr/) [e](..)",
            "[a](/README.md) [a](adr/0001%20first.md) [a](<adr/0001 first.md>)",
            "[a](https://x.org/y) [b](mailto:a@x.org) [c](#heading) [d](//x.org)",
            "[name]: guide.md \"title\"\n[^1]: a footnote",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_holds_no_links() {
        for text in ["```\n[a](none.md)\n```", "~~~ md\n```\n[a](none.md)\n~~~", "`[a](none.md)`"] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
