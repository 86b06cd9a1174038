//! Metrics as a table, made from what a program shows.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::cell;

/// What the table begins with.
pub const HEADING: &str = "| name | kind | labels | what it is |";

/// A row for each metric that begins with the prefix, which is left out.
#[must_use]
pub fn table(shown: &str, prefix: &str) -> String {
    let mut table = format!("{HEADING}\n|---|---|---|---|\n");
    for (name, kind) in
        shown.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
    {
        let Some(short) = name.strip_prefix(prefix) else { continue };
        let total = if kind == "counter" && !short.ends_with("_total") { "_total" } else { "" };
        let help = shown.lines().find_map(|line| line.strip_prefix(&format!("# HELP {name} ")));
        let labels: Vec<_> = labels(shown, name).iter().map(|label| format!("`{label}`")).collect();
        // Writing to a text cannot fail.
        let _ = writeln!(
            table,
            "| `{short}{total}` | {kind} | {} | {} |",
            labels.join(", "),
            cell(help.unwrap_or_default().trim_end_matches('.'))
        );
    }
    table
}

/// The labels of its series; a bucket's bound is part of the format.
fn labels(shown: &str, name: &str) -> BTreeSet<String> {
    let suffixes = ["", "_total", "_bucket"].map(|suffix| format!("{name}{suffix}{{"));
    let series = shown.lines().filter_map(|line| {
        let rest = suffixes.iter().find_map(|start| line.strip_prefix(start.as_str()))?;
        rest.rsplit_once('}').map(|(labels, _)| labels)
    });
    series
        .flat_map(|labels| labels.split("\","))
        .filter_map(|label| label.split_once('=').map(|(name, _)| name.to_owned()))
        .filter(|name| name != "le")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_told_with_its_kind_and_labels() {
        let shown = "# HELP x_a How many.\n# TYPE x_a counter\nx_a_total{b=\"1,2\",c=\"\"} 1\n\
                     # HELP x_d Time\n# TYPE x_d histogram\nx_d_bucket{le=\"1\"} 0\nx_d_sum 0\n# EOF\n";
        assert_eq!(
            table(shown, "x_"),
            format!(
                "{HEADING}\n|---|---|---|---|\n| `a_total` | counter | `b`, `c` | How many |\n| `d` | histogram |  | Time |\n"
            )
        );
    }
}
