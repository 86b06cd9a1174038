//! Rust source with its comments and literals blanked, so that a word found in it is code.

/// The same text, byte for byte as long, in which comments and literals are spaces.
pub(super) fn code_only(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        match end_of_blank(text, at) {
            Some(end) => {
                blank(&mut code[at..end]);
                at = end;
            }
            None => at += 1,
        }
    }
    // Whole literals and comments were replaced, so that no character was cut in two.
    String::from_utf8_lossy(&code).into_owned()
}

/// Line ends stay, so that lines can be counted.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

/// Where the comment or literal that begins here ends, if one does.
fn end_of_blank(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'/' if bytes[at..].starts_with(b"//") => Some(position(bytes, at, b"\n")),
        b'/' if bytes[at..].starts_with(b"/*") => Some(end_of_block_comment(bytes, at)),
        b'"' => Some(end_of_quoted(bytes, at, b'"')),
        b'\'' => end_of_character(text, at),
        b'r' => end_of_raw_string(bytes, at),
        _ => None,
    }
}

/// Block comments nest.
fn end_of_block_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn end_of_quoted(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A quote begins a character, or else a lifetime, which has no end quote.
fn end_of_character(text: &str, at: usize) -> Option<usize> {
    let mut after = text[at + 1..].chars();
    match after.next()? {
        '\\' => Some(end_of_quoted(text.as_bytes(), at, b'\'')),
        character => (after.next() == Some('\'')).then_some(at + character.len_utf8() + 2),
    }
}

/// `r"…"` and `r#"…"#`, also after a `b` or `c`; neither a name that ends in `r` nor `r#name`.
fn end_of_raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let prefix = if at > 0 && matches!(bytes[at - 1], b'b' | b'c') { at - 1 } else { at };
    if prefix > 0 && is_word_byte(bytes[prefix - 1]) {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let quote = at + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    Some((position(bytes, quote + 1, &end) + end.len()).min(bytes.len()))
}

/// Whether the byte can be part of a Rust name.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Where the pattern is next found, or the end.
fn position(bytes: &[u8], start: usize, pattern: &[u8]) -> usize {
    bytes[start.min(bytes.len())..]
        .windows(pattern.len())
        .position(|window| window == pattern)
        .map_or(bytes.len(), |offset| start + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of code that are left.
    fn words(text: &str) -> Vec<String> {
        let code = code_only(text);
        assert_eq!(code.len(), text.len(), "the length stays: {text}");
        assert_eq!(code.lines().count(), text.lines().count(), "the lines stay: {text}");
        code.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        for text in [
            "a // gone\nb",
            "a /// gone\nb",
            "a /* gone /* gone */ gone */ b",
            "a \"gone // gone\" b",
            "a \"gone \\\" gone\\\\\" b",
            "a r\"gone\\\" b",
            "a r#\"gone \" gone\"# b",
            "a \"gone\ngone ü\" b",
            "a '\"' b",
            "a '\\'' b",
            "a 'ü' b",
            "a '\\u{1F600}' b",
        ] {
            assert_eq!(words(text), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn lifetimes_names_and_operators_stay() {
        for text in ["&'a str", "r#try + for", "a / b * c", "'outer: loop", "for_r \u{e9}"] {
            assert_eq!(words(text).join(" "), text);
        }
    }

    #[test]
    fn prefixes_of_byte_strings_stay_as_names() {
        assert_eq!(words("b\"gone\" br#\"gone\"# c\"gone\""), ["b", "b", "c"]);
    }

    #[test]
    fn what_never_ends_is_blanked_to_the_end() {
        for text in ["a \"gone", "a /* gone", "a r##\"gone\"#", "a '\\", "a \"gone\\", "a // gone"]
        {
            assert_eq!(words(text), ["a"], "{text}");
        }
    }
}
