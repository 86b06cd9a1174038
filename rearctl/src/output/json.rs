//! JSON that is safe to look at: what a terminal would act on is escaped, which means the same to a program.

use std::fmt::Write;

use serde::Serialize;

use super::printable::is_acted_on;

/// On one line, for streams.
pub(crate) fn compact(value: &impl Serialize) -> String {
    escaped(&text(serde_json::to_string(value)))
}

/// On several lines, for people.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    escaped(&text(serde_json::to_string_pretty(value)))
}

fn text(made: serde_json::Result<String>) -> String {
    // What is printed are bodies of the wire: texts, numbers and lists, all of which JSON has.
    made.unwrap_or_else(|error| unreachable!("it is JSON: {error}"))
}

/// Outside its texts, JSON has no such letters but its own line breaks.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter != '\n' && is_acted_on(letter) {
            // All of them are in the first plane. Writing to a text cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_means_the_same() {
        let text = "a\u{9b}b\u{202e}c\u{7f}\n\x1b";
        let json = compact(&text);
        assert!(json.is_ascii(), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
