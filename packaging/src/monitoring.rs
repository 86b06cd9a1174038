//! Which metrics an expression of Prometheus speaks of.

/// What every metric of ours begins with.
const PREFIXES: [&str; 2] = ["rear_broker_", "rear_agent_"];

/// The names of our metrics in a text, each once for each time that it is there.
#[must_use]
pub fn metrics_in(expression: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression
        .split(|c: char| !is_part(c))
        .filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        .map(str::to_owned)
        .collect()
}

/// The names of the series in a text that Prometheus has scraped, with those that a histogram has.
#[must_use]
pub fn series_in(scraped: &str) -> Vec<String> {
    let lines = scraped.lines().filter(|line| !line.starts_with('#'));
    let mut names: Vec<_> =
        lines.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_an_expression_and_words_of_others_are_not() {
        let expression = r#"sum by (state) (rate(rear_broker_requests_total{status=~"5.."}[5m])) / up{job="rear_x"}"#;
        assert_eq!(metrics_in(expression), ["rear_broker_requests_total"]);
    }

    #[test]
    fn series_are_those_with_a_value() {
        let scraped =
            "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 0\na_sum 0\na_bucket{le=\"2\"} 0\n";
        assert_eq!(series_in(scraped), ["a_bucket", "a_sum"]);
    }
}
