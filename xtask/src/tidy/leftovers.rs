//! Words that belong to work in progress: macros that stand for missing code, tests that do not run.

use super::code_only::{code_only, is_word_byte};
use super::finding::Finding;
use super::tree::Tree;

const MACROS: &[(&str, &str)] =
    &[("todo!", "write the code"), ("unimplemented!", "write the code"), ("dbg!", "delete it")];
const IGNORED_TEST: (&str, &str) = ("#[ignore", "make the test run, or delete it");

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with_extension("rs") {
        for (number, line) in (1..).zip(code_only(text).lines()) {
            findings.extend(
                leftovers(line)
                    .map(|(word, remedy)| Finding::new(path, number, format!("`{word}`"), remedy)),
            );
        }
    }
    findings
}

fn leftovers(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let macros = MACROS.iter().filter(move |(word, _)| has_word(line, word));
    macros.chain([&IGNORED_TEST].into_iter().filter(move |(word, _)| line.contains(word))).copied()
}

/// Whether the word begins somewhere, not as the end of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| at == 0 || !is_word_byte(line.as_bytes()[at - 1]))
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;
    use crate::planted::Planted;

    fn found(path: &str, text: &str) -> Vec<String> {
        let planted = Planted::new(&[(path, text)]);
        shown(&check(&Tree::walked(planted.root())))
    }

    #[test]
    fn each_leftover_is_found() {
        assert_eq!(
            found("a.rs", "fn a() {\n    todo!()\n}\nfn b() { unimplemented!{} }\n"),
            ["a.rs:2: `todo!`: write the code", "a.rs:4: `unimplemented!`: write the code"]
        );
        assert_eq!(found("a.rs", "let a = dbg!(1);"), ["a.rs:1: `dbg!`: delete it"]);
        assert_eq!(
            found("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"),
            ["a.rs:2: `#[ignore`: make the test run, or delete it"]
        );
    }

    #[test]
    fn talking_about_one_is_fine() {
        assert_eq!(found("a.rs", "// dbg!(1)\nlet a = \"todo!()\"; mytodo!();\n"), [""; 0]);
        assert_eq!(found("a.md", "Never write `todo!()`.\n"), [""; 0]);
    }
}
