//! The values of a chart as a table, made from their schema and their defaults.

use std::fmt::Write;

use serde_json::Value;

use super::cell;

/// A row for each value: its path, its default, what it means.
#[must_use]
pub fn table(schema: &Value, defaults: &Value) -> String {
    let mut table = "| value | default | meaning |\n|---|---|---|\n".to_owned();
    rows("", schema, defaults, &mut table);
    table
}

fn rows(path: &str, schema: &Value, defaults: &Value, table: &mut String) {
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let default = &defaults[name];
        if below["properties"].is_object() {
            rows(&path, below, default, table);
            continue;
        }
        let about = cell(below["description"].as_str().unwrap_or_default());
        // Writing to a text cannot fail.
        let _ = writeln!(table, "| `{path}` | {} | {about} |", shown(default));
    }
}

fn shown(default: &Value) -> String {
    match default {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => String::new(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_with_its_path_and_default() {
        let schema = serde_json::json!({"properties": {"image": {"properties": {
            "tag": {"description": "Which release"}, "repository": {"description": "Where"}}}}});
        let defaults = serde_json::json!({"image": {"tag": "", "repository": "rear-agent"}});
        let table = table(&schema, &defaults);
        assert!(table.ends_with("| `image.repository` | `rear-agent` | Where |\n| `image.tag` |  | Which release |\n"), "{table}");
    }
}
