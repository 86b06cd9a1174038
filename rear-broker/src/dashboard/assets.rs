//! The files of the page, in the binary: nothing comes from elsewhere.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};

const PAGE: &str = include_str!("assets/index.html");

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, type and contents.
const ASSETS: [(&str, &str, &str); 12] = [
    ("style.css", STYLE, include_str!("assets/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    ("main.js", SCRIPT, include_str!("assets/main.js")),
    ("dom.js", SCRIPT, include_str!("assets/dom.js")),
    ("format.js", SCRIPT, include_str!("assets/format.js")),
    ("broker.js", SCRIPT, include_str!("assets/broker.js")),
    ("overview.js", SCRIPT, include_str!("assets/overview.js")),
    ("flows.js", SCRIPT, include_str!("assets/flows.js")),
    ("lists.js", SCRIPT, include_str!("assets/lists.js")),
    ("details.js", SCRIPT, include_str!("assets/details.js")),
    ("try.js", SCRIPT, include_str!("assets/try.js")),
    ("theme.js", SCRIPT, include_str!("assets/theme.js")),
];

pub(super) async fn page() -> Html<&'static str> {
    Html(PAGE)
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, contents)) => ([(CONTENT_TYPE, *kind)], *contents).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
