//! Texts of others on our terminal: what a terminal would act on is shown as what it is.

use std::borrow::Cow;

/// A text in which nothing moves the cursor, changes colours, hides, or turns the direction of writing.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_acted_on) {
        return Cow::Borrowed(text);
    }
    let shown = |letter: char| -> String {
        if is_acted_on(letter) { letter.escape_default().collect() } else { letter.into() }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Controls of both kinds, marks that turn the direction, and what has no width.
pub(super) fn is_acted_on(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown() {
        assert_eq!(printable("a\x1b[31mb\x07"), "a\\u{1b}[31mb\\u{7}");
        assert_eq!(printable("\u{9b}2J\r\n\t"), "\\u{9b}2J\\r\\n\\t");
        assert_eq!(printable("abc\u{202e}cba"), "abc\\u{202e}cba");
    }

    #[test]
    fn letters_of_any_language_stay() {
        assert_eq!(printable("Köln 東京"), "Köln 東京");
    }
}
