//! Reads the `mod name;` declarations out of Rust source.

use std::mem;

use super::code_only::{code_only, is_word_byte};

/// A `mod name;`.
pub(super) struct Declaration {
    /// The modules written with braces around it, outermost first.
    pub(super) inside: Vec<String>,
    pub(super) name: String,
    pub(super) attributes: Attributes,
}

/// What the attributes of an item say about its file.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) paths: Vec<String>,
    /// The path stands under a condition, so that the usual file may be meant too.
    pub(super) conditional: bool,
}

/// The declarations in the order of the text, also those inside of macros and functions.
pub(super) fn declarations(text: &str) -> Vec<Declaration> {
    let code = code_only(text);
    let mut reader = Reader {
        text,
        code: &code,
        at: 0,
        blocks: Vec::new(),
        attributes: Attributes::default(),
        found: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'text> {
    text: &'text str,
    /// The text without comments and literals, at the same positions.
    code: &'text str,
    at: usize,
    /// The open braces; a name where they belong to a module.
    blocks: Vec<Option<String>>,
    /// Those of the item that is being read, up to its body or its end.
    attributes: Attributes,
    found: Vec<Declaration>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(&byte) = self.code.as_bytes().get(self.at) {
            match byte {
                b'#' if self.code[self.at..].starts_with("#[") => self.attribute(),
                b'{' => self.open(None),
                b'}' => {
                    self.blocks.pop();
                    self.end_item();
                }
                b';' => self.end_item(),
                byte if is_word_byte(byte) => {
                    if self.word() == "mod" {
                        self.module();
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn open(&mut self, module: Option<String>) {
        self.blocks.push(module);
        self.end_item();
    }

    fn end_item(&mut self) {
        self.attributes = Attributes::default();
        self.at += 1;
    }

    /// What follows the word `mod`: a name, then its body or the end.
    fn module(&mut self) {
        self.skip_spaces();
        let mut name = self.word();
        if name == "r" && self.code[self.at..].starts_with('#') {
            self.at += 1;
            name = self.word();
        }
        self.skip_spaces();
        match self.code.as_bytes().get(self.at) {
            Some(b'{') => self.open(Some(name)),
            Some(b';') if !name.is_empty() => {
                let inside = self.blocks.iter().flatten().cloned().collect();
                let attributes = mem::take(&mut self.attributes);
                self.found.push(Declaration { inside, name, attributes });
            }
            _ => {}
        }
    }

    /// Notes the file that the attribute names, if it does: `path = "…"`.
    fn attribute(&mut self) {
        let start = self.at;
        self.skip_brackets();
        let (code, text) = (&self.code[start..self.at], &self.text[start..self.at]);
        if let Some((before, after)) = code.split_once("path")
            && after.trim_start().starts_with('=')
            && let Some(path) = text[before.len()..].split('"').nth(1)
        {
            self.attributes.paths.push(path.to_owned());
            self.attributes.conditional |= before.contains("cfg_attr");
        }
    }

    fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        for (offset, byte) in self.code[self.at..].bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' if depth == 1 => {
                    self.at += offset + 1;
                    return;
                }
                b']' => depth -= 1,
                _ => {}
            }
        }
        self.at = self.code.len();
    }

    fn skip_spaces(&mut self) {
        let rest = &self.code[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn word(&mut self) -> String {
        let rest = &self.code[self.at..];
        let length = rest.bytes().take_while(|byte| is_word_byte(*byte)).count();
        self.at += length;
        rest[..length].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        declarations(text).into_iter().map(|declaration| declaration.name).collect()
    }

    #[test]
    fn a_module_of_any_visibility_is_declared() {
        for text in [
            "mod x;",
            "pub mod x;",
            "pub(crate) mod x ;",
            "pub(in crate::y) mod\nx;",
            "#[cfg(test)]\n// why\nmod x; // note",
            "use a::{b, c};\nfn f() { 1 }\nmod r#x;",
            "cfg_if! { if #[cfg(unix)] { mod x; } }",
        ] {
            assert_eq!(names(text), ["x"], "{text}");
        }
    }

    #[test]
    fn words_that_only_look_alike_declare_nothing() {
        for text in
            ["// mod x;", "let a = \"mod x;\";", "mod x { fn f() {} }", "$(mod $x;)*", "model x;"]
        {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_modules_around_a_declaration_are_known() {
        let found = declarations("mod a { mod b { fn f() {} mod x; } mod y; }\nmod z;");
        let around: Vec<_> = found.iter().map(|declaration| declaration.inside.join("/")).collect();
        assert_eq!(around, ["a/b", "a", ""]);
    }

    #[test]
    fn the_path_of_another_item_is_not_the_modules() {
        let found = declarations("#[route(path = \"gone.rs\")]\nstruct S;\nmod x;");
        assert_eq!(found[0].attributes.paths, [""; 0]);
    }
}
