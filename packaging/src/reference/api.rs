//! The API as a page, made from its description (`OpenAPI`).

use std::fmt::Write;

use serde_json::Value;

use super::cell;

/// A heading for each operation, and one for each body.
#[must_use]
pub fn page(introduction: &str, description: &Value) -> String {
    let mut page = introduction.to_owned();
    page.push_str("\n## Operations\n");
    for (path, methods) in members(&description["paths"]) {
        for (method, operation) in members(methods) {
            describe(&method.to_uppercase(), path, operation, &mut page);
        }
    }
    page.push_str("\n## Bodies\n");
    for (name, schema) in members(&description["components"]["schemas"]) {
        body(name, schema, &mut page);
    }
    page
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn describe(method: &str, path: &str, operation: &Value, page: &mut String) {
    // Writing to a text cannot fail.
    let _ = write!(page, "\n### `{method} {path}`\n\n{}\n\n", text(&operation["summary"]));
    let parameters: Vec<_> = operation["parameters"].as_array().into_iter().flatten().collect();
    let sent = operation.pointer("/requestBody/content/application~1json/schema").map(kind);
    if !parameters.is_empty() || sent.is_some() {
        page.push_str("| sent | where | needed | meaning |\n|---|---|---|---|\n");
    }
    for parameter in parameters {
        let needed = if parameter["required"] == true { "yes" } else { "" };
        let _ = writeln!(
            page,
            "| `{}` | {} | {needed} | {} |",
            text(&parameter["name"]),
            text(&parameter["in"]),
            text(&parameter["description"])
        );
    }
    if let Some(sent) = sent {
        let _ = writeln!(page, "| {sent} | body | yes | |");
    }
    answers(&operation["responses"], page);
}

/// Successes with their bodies; problems are the same everywhere.
fn answers(responses: &Value, page: &mut String) {
    page.push_str("\n| answer | body | meaning |\n|---|---|---|\n");
    for (status, response) in members(responses).filter(|(status, _)| status.starts_with('2')) {
        let content = members(&response["content"]).next();
        let body = content.map(|(media, content)| match &content["schema"] {
            Value::Null => format!("`{media}`"),
            schema => kind(schema),
        });
        let about = text(&response["description"]);
        let _ = writeln!(page, "| {status} | {} | {about} |", body.unwrap_or_default());
    }
    let problems: Vec<_> = members(responses)
        .map(|(status, _)| &**status)
        .filter(|status| !status.starts_with('2'))
        .collect();
    if !problems.is_empty() {
        let _ = writeln!(
            page,
            "| {} | [Problem](#problem) | [codes](problem-codes.md) |",
            problems.join(", ")
        );
    }
}

fn body(name: &str, schema: &Value, page: &mut String) {
    let _ = write!(page, "\n### {name}\n\n{}\n", text(&schema["description"]));
    if schema["properties"].is_null() {
        let _ = writeln!(page, "\nIs: {}.", kind(schema));
        return;
    }
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    page.push_str("\n| member | type | needed | meaning |\n|---|---|---|---|\n");
    for (member, schema) in members(&schema["properties"]) {
        let needed = if required.iter().any(|name| *name == member) { "yes" } else { "" };
        let _ = writeln!(page, "| `{member}` | {} | {needed} | {} |", kind(schema), about(schema));
    }
}

/// What is said of a member, or of the one thing that it can be beside nothing.
fn about(schema: &Value) -> String {
    let parts = schema["oneOf"].as_array().into_iter().flatten();
    let own = text(&schema["description"]);
    if own.is_empty() {
        parts.map(about).find(|said| !said.is_empty()).unwrap_or_default()
    } else {
        own
    }
}

/// What a value is, with a link where it is a body.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let alternatives = ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(alternatives) = alternatives {
        let kinds = alternatives.iter().filter(|one| one["type"] != "null").map(kind);
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", text(value)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        other => other.as_str().into_iter().collect(),
    };
    match kinds[..] {
        ["array"] => format!("list of {}", kind(&schema["items"])),
        ["object"] if schema["additionalProperties"].is_object() => {
            format!("members of {}", kind(&schema["additionalProperties"]))
        }
        _ => kinds.join(" or "),
    }
}

fn text(value: &Value) -> String {
    cell(value.as_str().unwrap_or_default())
}
