//! Pieces of programs in a document: each stands in a file of the project, which compiles.

use super::{DocumentError, blocks};

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
        let line = match example {
            Some(example) => example,
            None if line.starts_with("//") => "",
            None => line,
        };
        line.split(" //").next().unwrap_or_default().to_owned()
    };
    program.lines().map(code).collect::<String>().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_stand_in_their_file_whatever_the_spaces() {
        let document = "```rust from=src/a.rs\nlet a = 1; // one\nf(a);\n```\n```rust\nb\n```\n";
        let found = excerpts(document).expect("blocks");
        assert_eq!(found[0].from.as_deref(), Some("src/a.rs"));
        assert!(found[0].stands_in("fn g() {\n    let a =\n        1;\n    f(a);\n}\n"));
        assert!(!found[0].stands_in("let a = 2; f(a);"));
        assert_eq!(found[1].from, None);
    }
}
