//! Reference pages, made from what the programs say of themselves.

pub mod api;
pub mod command_line;
pub mod custom_resources;
pub mod metrics;
pub mod values;

/// The text with the table that begins with this heading line replaced by another one; none if it has no such table.
#[must_use]
pub fn with_table(text: &str, heading: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(&format!("{heading}\n"))?;
    let after = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|'));
    Some(format!("{before}{table}{}", after.collect::<String>()))
}

/// A text as it may stand in a row of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_replaced_and_the_rest_stays() {
        let text = "a\n\n| x |\n|---|\n| 1 |\n\nb\n";
        assert_eq!(with_table(text, "| x |", "| y |\n").as_deref(), Some("a\n\n| y |\n\nb\n"));
        assert_eq!(with_table(text, "| z |", ""), None);
    }
}
