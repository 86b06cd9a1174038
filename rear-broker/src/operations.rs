//! The listeners of the operator: metrics and probes, without certificates, which hold no secrets; and the pages, which tell
//! more: to anyone on loopback, where they are if nobody says otherwise, and to administrators elsewhere.

mod guard;
mod pages;
mod plain;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::broker::Broker;
use crate::dashboard::dashboard;
use crate::metrics::Metrics;

pub use crate::listen::run_plain as run;
pub use guard::ForAdministrators;

/// What Prometheus asks for first.
const OPEN_METRICS: &str = "application/openmetrics-text";
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The older format, for everyone else.
const PLAIN_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `/metrics`.
pub fn metrics(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(show)).with_state(metrics)
}

async fn show(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let open = accepted.is_some_and(|accepted| accepted.contains(OPEN_METRICS));
    let kind = if open { OPEN_METRICS_TYPE } else { PLAIN_TYPE };
    match metrics.text() {
        Ok(text) => {
            let text = if open { text } else { plain::plain(&text) };
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The dashboard and the description of the API.
pub fn pages(broker: Arc<Broker>) -> Router {
    pages::pages().merge(dashboard(broker)).layer(from_fn(guard::with_policy))
}

/// The same, for whoever is on this machine.
pub fn pages_nearby(broker: Arc<Broker>) -> Router {
    pages(broker).layer(from_fn(guard::only_nearby))
}
