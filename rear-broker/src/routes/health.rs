//! Whether the broker lives, and whether it can decide: no certificate needed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, RETRY_AFTER, SERVER};
use axum::response::{IntoResponse, Response};

use crate::broker::Broker;

/// Which program this is, for those who wonder why it behaves so.
const PROGRAM: (HeaderName, &str) = (SERVER, concat!("rear-broker/", env!("CARGO_PKG_VERSION")));

/// When to ask again, in seconds: about how often those ask who wait for a broker.
const READY_LATER: &str = "1";

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
pub(super) async fn ready(State(broker): State<Arc<Broker>>) -> Response {
    match why_not_ready(&broker) {
        None => ([PROGRAM], "ok\n").into_response(),
        Some(why) => {
            let later = (RETRY_AFTER, READY_LATER);
            (StatusCode::SERVICE_UNAVAILABLE, [PROGRAM, later], format!("{why}\n")).into_response()
        }
    }
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
    if let Some(trouble) = broker.audit.trouble() {
        return Some(trouble.to_string());
    }
    (*broker.stopping.borrow()).then(|| "the broker is stopping".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn a_broker_that_stops_says_so_and_when_to_ask_again() {
        let (broker, _) = crate::broker::tests::broker();
        let answer = ready(State(Arc::new(broker))).await;
        assert_eq!((answer.status(), answer.headers().get(RETRY_AFTER)), (StatusCode::OK, None));
        let (mut broker, _) = crate::broker::tests::broker();
        broker.stopping = watch::channel(true).1;
        let answer = ready(State(Arc::new(broker))).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()[RETRY_AFTER], READY_LATER);
    }
}
