//! Pages for operators: the description of the API, for people who have no network but this one.

use std::fmt::Write;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;

/// How the pages look.
const STYLE: &str = include_str!("style.css");

/// The description of the API.
pub(super) fn pages() -> Router {
    Router::new()
        .route("/api", get(|| async { Html(description()) }))
        .route("/openapi.json", get(document))
        .route("/style.css", get(|| async { ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }))
}

async fn document() -> Response {
    axum::Json(crate::routes::document()).into_response()
}

/// The description of the API as a page: every operation, what it takes and what it answers.
fn description() -> String {
    let document = serde_json::to_value(crate::routes::document()).unwrap_or_default();
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>REAR broker: the API</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"></head><body><main>\n<h1>REAR broker: the API</h1>\n\
         <p>Version 1, over mTLS. For programs: <a href=\"/openapi.json\">openapi.json</a>.</p>\n",
    );
    for (path, operations) in members(&document["paths"]) {
        for (method, operation) in members(operations) {
            page.push_str(&section(path, method, operation));
        }
    }
    page.push_str("<h2>Bodies</h2>\n");
    for (name, schema) in members(&document["components"]["schemas"]) {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let name = escaped(name);
        let text = escaped(&text);
        // Writing to a text cannot fail.
        let _ = writeln!(
            page,
            "<details id=\"{name}\"><summary>{name}</summary><pre>{text}</pre></details>"
        );
    }
    page.push_str("</main></body></html>\n");
    page
}

fn section(path: &str, method: &str, operation: &Value) -> String {
    let text = |name: &str| escaped(operation[name].as_str().unwrap_or_default());
    let mut section = format!(
        "<h2 id=\"{}\"><code>{} {}</code></h2>\n<p>{}</p>\n<dl>\n",
        text("operationId"),
        escaped(&method.to_uppercase()),
        escaped(path),
        text("summary"),
    );
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        section.push_str(&entry(
            parameter["name"].as_str().unwrap_or_default(),
            parameter["description"].as_str().unwrap_or_default(),
            None,
        ));
    }
    let body = &operation["requestBody"]["content"];
    if let Some((_, content)) = members(body).next() {
        section.push_str(&entry("body", "", reference(content)));
    }
    for (status, response) in members(&operation["responses"]) {
        let content = members(&response["content"]).next();
        let reference = content.and_then(|(_, content)| reference(content));
        let description = response["description"].as_str().unwrap_or_default();
        section.push_str(&entry(status, description, reference));
    }
    section + "</dl>\n"
}

/// The name of the schema that a content has, itself or in a list.
fn reference(content: &Value) -> Option<&str> {
    let schema = &content["schema"];
    let found = schema["$ref"].as_str().or_else(|| schema["items"]["$ref"].as_str())?;
    found.rsplit('/').next()
}

fn entry(term: &str, description: &str, reference: Option<&str>) -> String {
    let link = reference
        .map(escaped)
        .map_or_else(String::new, |name| format!(" <a href=\"#{name}\">{name}</a>"));
    format!("<dt>{}</dt><dd>{}{link}</dd>\n", escaped(term), escaped(description))
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// For a place between tags or in quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
