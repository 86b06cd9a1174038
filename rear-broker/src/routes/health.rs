//! Whether the broker lives, and whether it can decide: no certificate needed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, SERVER};

use crate::broker::Broker;

/// Which program this is, for those who wonder why it behaves so.
const PROGRAM: (HeaderName, &str) = (SERVER, concat!("rear-broker/", env!("CARGO_PKG_VERSION")));

/// The process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "isAlive",
    responses((status = 200, content_type = "text/plain", body = String, description = "It lives"))
)]
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The ledger takes decisions.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "isReady",
    responses(
        (status = 200, content_type = "text/plain", body = String, description = "It can decide"),
        (status = 503, content_type = "text/plain", body = String, description = "It cannot, and why")
    )
)]
pub(super) async fn ready(
    State(broker): State<Arc<Broker>>,
) -> (StatusCode, [(HeaderName, &'static str); 1], String) {
    let (status, said) = match why_not_ready(&broker) {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    };
    (status, [PROGRAM], said)
}

/// Why nothing can be granted at the moment.
fn why_not_ready(broker: &Broker) -> Option<String> {
    let health = broker.store.health().borrow().clone();
    if let Some(failure) = &health.failure {
        return Some(format!("the store has stopped: {failure}"));
    }
    if let Some(alarm) = health.alarm {
        return Some(alarm.to_string());
    }
    if let Some(stale) = broker.store.standing().and_then(|standing| standing.stale()) {
        return Some(stale);
    }
    (*broker.stopping.borrow()).then(|| "the broker is stopping".to_owned())
}
