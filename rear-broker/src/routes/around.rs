//! Around every request: a panic becomes an answer, every answer names its state, everything is counted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use rear_api::problem::{Code, Problem};
use rear_api::revision::REVISION_HEADER;
use tracing::error;

use super::Broker;
use crate::answer::{Failure, revision_value};

pub(super) async fn around(
    State(broker): State<Arc<Broker>>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let outcome = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = outcome.unwrap_or_else(|_| {
        broker.metrics.panicked();
        error!(%method, route = route.as_ref().map(MatchedPath::as_str), "a request panicked");
        Failure::from(Problem::new(Code::Internal, "the broker failed; its log says where"))
            .into_response()
    });
    let status = response.status();
    let headers = response.headers_mut();
    if !headers.contains_key(REVISION_HEADER) {
        let position = broker.store.view().position();
        headers.insert(REVISION_HEADER, revision_value(position));
    }
    if status == StatusCode::UNAUTHORIZED {
        // Another certificate needs another connection.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    broker.metrics.answered(&method, route, status);
    response
}
