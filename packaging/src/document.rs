//! A document as a session: which of its fenced blocks are typed into a shell, and what they must answer.
//!
//! The first word after the fence is the language, for whoever renders it; the words after it are for here:
//!
//! | block | what becomes of it |
//! |---|---|
//! | `console` | typed into the shell; every command must succeed |
//! | `console background` | started, and left running until the end; what follows waits for the next `text` |
//! | `console not-executed: WHY` | not typed |
//! | `text`, right after a `console` | must be among what was printed, line by line, in this order; `…` stands for anything |
//! | `LANGUAGE file=NAME` | written to a file of that name |
//! | anything else | left alone |

use thiserror::Error;

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
    #[error("line {line}: a console is `background`, or `not-executed: WHY`, and not `{word}`")]
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
            && let Some(Act::Type { expected, .. } | Act::Start { expected, .. }) =
                steps.last_mut().map(|step| &mut step.act)
        {
            expected.extend(block.text.lines().map(str::to_owned));
        }
    }
    Ok(steps)
}

fn console(line: usize, words: &str, text: String) -> Result<Act, DocumentError> {
    match words {
        "" => Ok(Act::Type { commands: text, expected: Vec::new() }),
        "background" => Ok(Act::Start { commands: text, expected: Vec::new() }),
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
    for (line, text) in (1..).zip(document.lines()) {
        match (open, text.strip_prefix("```")) {
            (false, Some(info)) => {
                found.push(Block { line, info: info.trim(), text: String::new(), follows });
                open = true;
            }
            (true, Some("")) => (open, follows) = (false, true),
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

/// The first expected line that is not among the printed ones, after those before it.
#[must_use]
pub fn missing<'a>(expected: &'a [String], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines();
    expected
        .iter()
        .map(String::as_str)
        .filter(|line| !line.trim().is_empty())
        .find(|wanted| !printed.any(|line| is_like(line, wanted)))
}

/// Whether a line is as it was expected: columns may be wider, and `…` stands for anything.
fn is_like(line: &str, wanted: &str) -> bool {
    let (line, wanted) = (plain(line), plain(wanted));
    let mut parts = wanted.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
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

    #[test]
    fn expected_lines_are_found_in_order_with_gaps_and_wider_columns() {
        let expected: Vec<_> = ["a   1", "c …"].iter().map(ToString::to_string).collect();
        assert_eq!(missing(&expected, "x\na 1\nb\nc anything\n"), None);
        assert_eq!(missing(&expected, "c anything\na 1\n"), Some("c …"));
        assert_eq!(missing(&expected, "a 12\n"), Some("a   1"));
    }

    #[test]
    fn an_ellipsis_stands_for_anything_in_its_place_only() {
        for (line, wanted, like) in [
            ("id rsv-7 Reserved", "id … Reserved", true),
            ("id rsv-7 Released", "id … Reserved", false),
            ("at 12:00 for 1h", "at … for …", true),
            ("at 12:00", "at … for …", false),
            ("exactly", "exactly", true),
            ("exactly not", "exactly", false),
        ] {
            assert_eq!(is_like(line, wanted), like, "{line} against {wanted}");
        }
    }
}
