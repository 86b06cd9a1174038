//! What a command has printed, held against what a document says that it prints.

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

    #[test]
    fn what_must_be_all_is_all() {
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
}
