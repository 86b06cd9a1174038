//! A reader of TOML that flattens a manifest into keys and values.
//!
//! `[a] b = { c = "d" }`, `[a.b] c = "d"` and `a.b.c = "d"` all become the key
//! `["a", "b", "c"]`, so that no check depends on how a manifest is written. Cargo has
//! accepted the manifest before: what it would refuse is skipped, not reported.

use std::collections::HashMap;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<String>,
    /// A string without its quotes, any other scalar as written; empty for a table's header.
    pub(super) value: String,
    pub(super) line: usize,
}

pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut reader = Reader { rest: text, line: 1, entries: Vec::new() };
    reader.document();
    reader.entries
}

struct Reader<'text> {
    rest: &'text str,
    line: usize,
    entries: Vec<Entry>,
}

impl<'text> Reader<'text> {
    fn document(&mut self) {
        let mut table = Vec::new();
        let mut lengths: HashMap<Vec<String>, usize> = HashMap::new();
        loop {
            self.skip_blank();
            if self.rest.is_empty() {
                return;
            }
            if self.take("[[") {
                table = self.key();
                let length = lengths.entry(table.clone()).or_default();
                table.push(length.to_string());
                *length += 1;
                self.push(&table, String::new());
                self.skip_line();
            } else if self.take("[") {
                table = self.key();
                self.push(&table, String::new());
                self.skip_line();
            } else {
                self.pair(&table);
                self.skip_line();
            }
        }
    }

    /// `key = value`, the key below that of its table.
    fn pair(&mut self, table: &[String]) {
        let mut key = table.to_vec();
        key.extend(self.key());
        self.skip_spaces();
        if self.take("=") {
            self.skip_spaces();
            self.value(&key);
        }
    }

    fn value(&mut self, key: &[String]) {
        if self.take("{") {
            self.inline_table(key);
        } else if self.take("[") {
            self.array(key);
        } else {
            let line = self.line;
            let value =
                self.string().unwrap_or_else(|| self.take_until(",]}#\n").trim().to_owned());
            self.entries.push(Entry { key: key.to_vec(), value, line });
        }
    }

    fn inline_table(&mut self, key: &[String]) {
        while self.next_element("}") {
            self.pair(key);
        }
    }

    fn array(&mut self, key: &[String]) {
        let mut length = 0_usize;
        while self.next_element("]") {
            let mut element = key.to_vec();
            element.push(length.to_string());
            self.value(&element);
            length += 1;
        }
    }

    /// Goes to the next element of a list, or past its end. A stray bracket ends the
    /// list too, so that reading always comes to an end.
    fn next_element(&mut self, end: &str) -> bool {
        self.skip_blank();
        while self.take(",") {
            self.skip_blank();
        }
        !self.take(end) && !self.rest.is_empty() && !self.rest.starts_with([']', '}'])
    }

    /// Bare and quoted words joined by dots.
    fn key(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            self.skip_spaces();
            let word = self.string().unwrap_or_else(|| self.take_until(" \t.=]},#\n").to_owned());
            words.push(word);
            self.skip_spaces();
            if !self.take(".") {
                return words;
            }
        }
    }

    /// A quoted string, without its quotes; escapes stay as they are.
    fn string(&mut self) -> Option<String> {
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| self.take(quote))?;
        let content = self.rest;
        while !self.rest.is_empty() && !self.rest.starts_with(quote) {
            let escaped = quote.starts_with('"') && self.rest.starts_with('\\');
            self.advance(if escaped { 2 } else { 1 });
        }
        let length = content.len() - self.rest.len();
        self.take(quote);
        Some(content[..length].to_owned())
    }

    fn push(&mut self, key: &[String], value: String) {
        self.entries.push(Entry { key: key.to_vec(), value, line: self.line });
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.rest.starts_with(word);
        if taken {
            self.advance(word.chars().count());
        }
        taken
    }

    fn take_until(&mut self, ends: &str) -> &'text str {
        let length = self.rest.find(|c| ends.contains(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
    }

    fn skip_line(&mut self) {
        self.take_until("\n");
    }

    /// White space, line ends and comments.
    fn skip_blank(&mut self) {
        loop {
            self.skip_spaces();
            if self.rest.starts_with('#') {
                self.skip_line();
            } else if !self.take("\n") {
                return;
            }
        }
    }

    /// Goes on by characters, counting lines.
    fn advance(&mut self, characters: usize) {
        for _ in 0..characters {
            let mut rest = self.rest.chars();
            self.line += usize::from(rest.next() == Some('\n'));
            self.rest = rest.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value as `key.with.dots = value @ line`, headers left out.
    fn flat(text: &str) -> Vec<String> {
        entries(text)
            .iter()
            .filter(|entry| !entry.value.is_empty())
            .map(|entry| format!("{} = {} @ {}", entry.key.join("."), entry.value, entry.line))
            .collect()
    }

    #[test]
    fn every_way_to_write_a_table_gives_the_same_key() {
        for text in [
            "[a]\nb = { c = \"d\" }",
            "[a.b]\n\nc = \"d\"",
            "[a]\nb.c = 'd'",
            "\na.b.c = \"d\"",
            "# note\na = { b = { c = \"d\" } } # note",
            "[ a . \"b\" ] # note\nc = \"d\"",
        ] {
            let found: Vec<_> = entries(text)
                .into_iter()
                .filter(|entry| !entry.value.is_empty())
                .map(|entry| (entry.key.join("."), entry.value))
                .collect();
            assert_eq!(found, [("a.b.c".to_owned(), "d".to_owned())], "{text}");
        }
    }

    #[test]
    fn values_over_several_lines_are_no_keys() {
        let text = "a = { x = [\n  \"y = 1\", # [z]\n  'w',\n] }\nb = true\n";
        assert_eq!(flat(text), ["a.x.0 = y = 1 @ 2", "a.x.1 = w @ 3", "b = true @ 5"]);
    }

    #[test]
    fn strings_may_hold_what_looks_like_structure() {
        let text = "a = \"# no [comment] \\\" \"\nb = \"\"\"\n[c]\nd = 1\n\"\"\"\ne = 2 # two";
        assert_eq!(
            flat(text),
            ["a = # no [comment] \\\"  @ 1", "b = \n[c]\nd = 1\n @ 2", "e = 2 @ 6"]
        );
    }

    #[test]
    fn arrays_of_tables_are_numbered() {
        let text = "[[bin]]\nname = 'a'\n[[bin]]\nname = 'b'\n[[test]]\nname = 'c'\n";
        assert_eq!(flat(text), ["bin.0.name = a @ 2", "bin.1.name = b @ 4", "test.0.name = c @ 6"]);
    }

    #[test]
    fn headers_with_quoted_words_keep_their_dots() {
        let found = entries("[target.'cfg(a = \"1.2\")'.dependencies]");
        assert_eq!(found[0].key, ["target", "cfg(a = \"1.2\")", "dependencies"]);
    }

    #[test]
    fn reading_ends_whatever_the_text() {
        for text in
            ["a = [}", "a = {]", "= = =", "[", "[[", "a = \"", "a = { b c = , }", "]\n}", "."]
        {
            entries(text);
        }
    }
}
