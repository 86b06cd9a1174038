//! From `OpenMetrics` to the older text format: the descriptions of counters have the names of their samples, and there is
//! neither a unit nor an end.

/// The same in the older format.
pub(super) fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + text.len() / 8);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("# UNIT ") || line == "# EOF" {
            continue;
        }
        // A description is followed by its type.
        let next = lines.peek().copied().unwrap_or_default();
        let of_counter = is_counter(line) || (line.starts_with("# HELP ") && is_counter(next));
        let described = of_counter.then(|| with_suffix(line)).flatten();
        written.push_str(described.as_deref().unwrap_or(line));
        written.push('\n');
    }
    written
}

fn is_counter(line: &str) -> bool {
    line.starts_with("# TYPE ") && line.ends_with(" counter")
}

/// `# HELP name text` with the name of the samples.
fn with_suffix(line: &str) -> Option<String> {
    let mut words = line.splitn(4, ' ');
    let (hash, kind, name, rest) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(format!("{hash} {kind} {name}_total {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_described_under_the_names_of_their_samples() {
        let open = "\
# HELP commits How many.
# TYPE commits counter
commits_total 7
# HELP took_seconds How long.
# TYPE took_seconds gauge
# UNIT took_seconds seconds
took_seconds 1.5
# EOF
";
        let expected = "\
# HELP commits_total How many.
# TYPE commits_total counter
commits_total 7
# HELP took_seconds How long.
# TYPE took_seconds gauge
took_seconds 1.5
";
        assert_eq!(plain(open), expected);
    }
}
