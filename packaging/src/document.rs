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

/// A piece of a program that a document shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Where it begins in the document, counted from one.
    pub line: usize,
    /// The file of the project that has it; none if the document does not say.
    pub from: Option<String>,
    /// What is shown.
    pub text: String,
}

impl Excerpt {
    /// Whether a program has this piece, whatever spaces and comments are in either.
    #[must_use]
    pub fn stands_in(&self, program: &str) -> bool {
        bare(program).contains(&bare(&self.text))
    }
}

/// The texts of all blocks in a language.
pub fn blocks_of(document: &str, language: &str) -> Result<Vec<String>, DocumentError> {
    let of_language = blocks(document)?
        .into_iter()
        .filter(|block| block.info.split(' ').next() == Some(language));
    Ok(of_language.map(|block| block.text).collect())
}

/// Every block of Rust.
pub fn excerpts(document: &str) -> Result<Vec<Excerpt>, DocumentError> {
    let rust = blocks(document)?.into_iter().filter_map(|block| {
        let words = block.info.strip_prefix("rust")?;
        let from = words.split(' ').find_map(|word| word.strip_prefix("from=")).map(str::to_owned);
        Some(Excerpt { line: block.line, from, text: block.text })
    });
    Ok(rust.collect())
}

/// A program without comments and spaces; what documentation shows in it is compiled too, and stays.
fn bare(program: &str) -> String {
    let code = |line: &str| {
        let line = line.trim_start();
        let example = line.strip_prefix("//! ").or_else(|| line.strip_prefix("/// "));
        example.unwrap_or(line).split(" //").next().unwrap_or_default().to_owned()
    };
    program.lines().map(code).collect::<String>().split_whitespace().collect()
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

/// The first line, expected or printed, where what was printed is something else than what was expected. Empty lines do
/// not count.
#[must_use]
pub fn difference(expected: &[String], printed: &str) -> Option<String> {
    let expected = expected.iter().map(String::as_str).filter(|line| !line.trim().is_empty());
    let mut printed = printed.lines().filter(|line| !line.trim().is_empty()).peekable();
    let mut anything = false;
    for wanted in expected {
        if wanted.trim() == "…" {
            anything = true;
            continue;
        }
        while anything && printed.next_if(|line| !is_like(line, wanted)).is_some() {}
        anything = false;
        match printed.next() {
            Some(line) if is_like(line, wanted) => {}
            Some(line) => return Some(format!("`{line}` and not `{wanted}`")),
            None => return Some(format!("nothing and not `{wanted}`")),
        }
    }
    printed.next().filter(|_| !anything).map(|line| format!("`{line}` and not the end"))
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
    fn what_fails_must_print_exactly_this() {
        let document = "```console fails\nserve\n```\n```text\nno: …\n```\n";
        let failed =
            Act::Fail { commands: "serve\n".to_owned(), expected: vec!["no: …".to_owned()] };
        assert_eq!(acts(document), [failed]);
        for (expected, printed, same) in [
            ("a\nb …", "a\n\nb 1\n", true),
            ("a", "a\nb\n", false),
            ("a\nb", "a\n", false),
            ("b", "a\nb\n", false),
            ("…\nb", "a\na\nb\n", true),
            ("a\n…", "a\nb\nc\n", true),
            ("…\nb", "a\nc\n", false),
        ] {
            let expected: Vec<_> = expected.lines().map(str::to_owned).collect();
            assert_eq!(difference(&expected, printed).is_none(), same, "{expected:?} {printed}");
        }
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
    fn excerpts_stand_in_their_file_whatever_the_spaces() {
        let document = "```rust from=src/a.rs\nlet a = 1; // one\nf(a);\n```\n```rust\nb\n```\n";
        let found = excerpts(document).expect("blocks");
        assert_eq!(found[0].from.as_deref(), Some("src/a.rs"));
        assert!(found[0].stands_in("fn g() {\n    let a =\n        1;\n    f(a);\n}\n"));
        assert!(!found[0].stands_in("let a = 2; f(a);"));
        assert_eq!(found[1].from, None);
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
