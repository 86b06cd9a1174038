//! A document as a session: which of its fenced blocks are typed into a shell, and what they must answer.
//!
//! The first word after the fence is the language, for whoever renders it; the words after it are for here:
//!
//! | block | what becomes of it |
//! |---|---|
//! | `console` | typed into the shell; every command must succeed |
//! | `console background` | started, and left running until the end; what follows waits for the next `text` |
//! | `console fails` | typed into the shell; it must end with an error |
//! | `console not-executed: WHY` | not typed |
//! | a comment `<!-- typed: WHY` up to `-->` | typed, and not shown: what stands in for something that is not there |
//! | `text`, right after a `console` | must be among what was printed, line by line, in this order; `…` stands for anything |
//! | `text`, right after a `console fails` | must be all that was printed, line by line; a line that is only `…` stands for any lines |
//! | `LANGUAGE file=NAME` | written to a file of that name |
//! | `rust from=FILE` | must stand in that file of the project, whatever the spaces and comments: see [`excerpts`] |
//! | anything else | left alone |
//!
//! A block may be indented, as those in lists are.

mod excerpt;
mod printed;

use thiserror::Error;

pub use excerpt::{Excerpt, excerpts};
pub use printed::{difference, missing};

/// One thing to do, with the line of the document where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Counts from one.
    pub line: usize,
    /// What to do.
    pub act: Act,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Type these lines, and find these in what is printed.
    Type {
        /// The lines.
        commands: String,
        /// Each of these lines, in this order.
        expected: Vec<String>,
    },
    /// Start this, and go on when it has printed these.
    Start {
        /// The lines.
        commands: String,
        /// Each of these lines, in this order.
        expected: Vec<String>,
    },
    /// Type these lines, have them fail, and find these and no others in what is printed.
    Fail {
        /// The lines.
        commands: String,
        /// Each of these lines, in this order.
        expected: Vec<String>,
    },
    /// Write a file.
    Write {
        /// Its name.
        file: String,
        /// What is in it.
        text: String,
    },
    /// Do nothing, for this reason.
    Leave {
        /// Why.
        reason: String,
    },
}

/// Why a document is no session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// A fence has no end.
    #[error("the block that begins at line {0} does not end")]
    Open(usize),
    /// A word that means nothing here.
    #[error(
        "line {line}: a console is `background`, `fails`, or `not-executed: WHY`, and not `{word}`"
    )]
    Word {
        /// Where.
        line: usize,
        /// What is there.
        word: String,
    },
}

/// A fenced block as it stands.
struct Block<'a> {
    line: usize,
    info: &'a str,
    text: String,
    /// Nothing but empty lines is between it and the block before.
    follows: bool,
}

const FENCE: &str = "```";
const HIDDEN: &str = "<!-- typed: ";
const END_OF_HIDDEN: &str = "-->";

/// The steps of a document, in order.
pub fn steps(document: &str) -> Result<Vec<Step>, DocumentError> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(document)? {
        let (language, words) = block.info.split_once(' ').unwrap_or((block.info, ""));
        let line = block.line;
        if let Some(file) = words.split(' ').find_map(|word| word.strip_prefix("file=")) {
            steps.push(Step { line, act: Act::Write { file: file.to_owned(), text: block.text } });
        } else if language == "console" {
            steps.push(Step { line, act: console(line, words.trim(), block.text)? });
        } else if language == "text"
            && block.follows
            && let Some(
                Act::Type { expected, .. }
                | Act::Start { expected, .. }
                | Act::Fail { expected, .. },
            ) = steps.last_mut().map(|step| &mut step.act)
        {
            expected.extend(block.text.lines().map(str::to_owned));
        }
    }
    Ok(steps)
}

/// The texts of all blocks in a language.
pub fn blocks_of(document: &str, language: &str) -> Result<Vec<String>, DocumentError> {
    let of_language = blocks(document)?
        .into_iter()
        .filter(|block| block.info.split(' ').next() == Some(language));
    Ok(of_language.map(|block| block.text).collect())
}

/// Everything that a document has its reader type: lines of consoles, executed or not, continued lines joined.
pub fn typed(document: &str) -> Result<Vec<(usize, String)>, DocumentError> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let consoles = blocks(document)?.into_iter().filter(|block| block.info.starts_with("console"));
    for block in consoles {
        let mut continues = false;
        for (number, text) in (block.line + 1..).zip(block.text.lines()) {
            let (words, goes_on) = match text.strip_suffix('\\') {
                Some(words) => (words, true),
                None => (text, false),
            };
            match lines.last_mut() {
                Some((_, before)) if continues => before.push_str(words.trim_start()),
                _ => lines.push((number, words.to_owned())),
            }
            continues = goes_on;
        }
    }
    Ok(lines)
}

fn console(line: usize, words: &str, text: String) -> Result<Act, DocumentError> {
    match words {
        "" => Ok(Act::Type { commands: text, expected: Vec::new() }),
        "background" => Ok(Act::Start { commands: text, expected: Vec::new() }),
        "fails" => Ok(Act::Fail { commands: text, expected: Vec::new() }),
        other => match other.strip_prefix("not-executed: ") {
            Some(reason) => Ok(Act::Leave { reason: reason.to_owned() }),
            None => Err(DocumentError::Word { line, word: other.to_owned() }),
        },
    }
}

fn blocks(document: &str) -> Result<Vec<Block<'_>>, DocumentError> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut open = false;
    let mut follows = false;
    let mut indentation = 0;
    let mut end = FENCE;
    for (line, text) in (1..).zip(document.lines()) {
        let text = if open { unindented(text, indentation) } else { text };
        let fence = if open { text } else { text.trim_start() };
        let hidden = fence.starts_with(HIDDEN) && !open;
        let info = if hidden { Some("console") } else { fence.strip_prefix(FENCE) };
        match (open, info) {
            (false, Some(info)) => {
                found.push(Block { line, info: info.trim(), text: String::new(), follows });
                open = true;
                indentation = text.len() - fence.len();
                end = if hidden { END_OF_HIDDEN } else { FENCE };
            }
            (true, _) if text == end => (open, follows) = (false, !hidden && end == FENCE),
            (true, _) => {
                if let Some(block) = found.last_mut() {
                    block.text.extend([text, "\n"]);
                }
            }
            (false, None) => follows &= text.trim().is_empty(),
        }
    }
    match found.last() {
        Some(block) if open => Err(DocumentError::Open(block.line)),
        _ => Ok(found),
    }
}

/// A line without as many spaces as its block is indented by.
fn unindented(line: &str, by: usize) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    &line[spaces.min(by)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(document: &str) -> Vec<Act> {
        steps(document).expect("a session").into_iter().map(|step| step.act).collect()
    }

    fn typed(commands: &str, expected: &[&str]) -> Act {
        let expected = expected.iter().map(ToString::to_string).collect();
        Act::Type { commands: commands.to_owned(), expected }
    }

    #[test]
    fn commands_are_typed_and_what_follows_them_is_expected() {
        let document = "# A\n\n```console\necho a\necho b\n```\n\n```text\na\nb\n```\n";
        let found = steps(document).expect("a session");
        assert_eq!(found, [Step { line: 3, act: typed("echo a\necho b\n", &["a", "b"]) }]);
    }

    #[test]
    fn text_after_prose_and_other_languages_are_left_alone() {
        let document =
            "```console\ntrue\n```\nand then\n```text\na\n```\n```rust\nfn main() {}\n```";
        assert_eq!(acts(document), [typed("true\n", &[])]);
    }

    #[test]
    fn what_runs_on_and_what_is_not_run_is_told_apart() {
        let document = "```console background\nserve\n```\n```text\nready\n```\n\
                        ```console not-executed: needs Kind\nkind create cluster\n```";
        let started =
            Act::Start { commands: "serve\n".to_owned(), expected: vec!["ready".to_owned()] };
        assert_eq!(acts(document), [started, Act::Leave { reason: "needs Kind".to_owned() }]);
    }

    #[test]
    fn what_fails_is_told_apart() {
        let document = "```console fails\nserve\n```\n```text\nno: …\n```\n";
        let failed =
            Act::Fail { commands: "serve\n".to_owned(), expected: vec!["no: …".to_owned()] };
        assert_eq!(acts(document), [failed]);
    }

    #[test]
    fn blocks_of_lists_are_blocks() {
        let document = "1. Do\n\n   ```console\n   echo a\n     echo b\n   ```\n";
        assert_eq!(acts(document), [typed("echo a\n  echo b\n", &[])]);
    }

    #[test]
    fn what_stands_in_for_something_is_typed_and_not_shown() {
        let document = "```console\na\n```\n<!-- typed: no kubelet\nb\n-->\n```text\nc\n```\n";
        assert_eq!(acts(document), [typed("a\n", &[]), typed("b\n", &[])]);
    }

    #[test]
    fn what_is_typed_is_known_also_where_it_is_not_executed() {
        let document = "```console not-executed: WHY\na \\\n  b\nc\n```\n```text\nd\n```\n";
        let found = super::typed(document).expect("a session");
        assert_eq!(found, [(2, "a b".to_owned()), (4, "c".to_owned())]);
    }

    #[test]
    fn files_are_written() {
        let written = Act::Write { file: "a.toml".to_owned(), text: "a = 1\n".to_owned() };
        assert_eq!(acts("```toml file=a.toml\na = 1\n```"), [written]);
    }

    #[test]
    fn a_word_that_means_nothing_and_a_fence_without_end_are_errors() {
        let word = DocumentError::Word { line: 1, word: "backgruond".to_owned() };
        assert_eq!(steps("```console backgruond\na\n```"), Err(word));
        assert_eq!(steps("a\n```console\nb\n"), Err(DocumentError::Open(2)));
    }
}
