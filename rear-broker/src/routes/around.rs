//! Around every request: it gets an id, a panic becomes an answer, every answer names its state, everything is counted, and
//! who changed something is told to the audit log.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONNECTION, HeaderName};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use rear_api::moment;
use rear_api::problem::{Code, Problem};
use rear_api::revision::REVISION_HEADER;
use tracing::{Instrument, debug, error, error_span};
use uuid::Uuid;

use super::Broker;
use super::actions::{About, Action};
use crate::answer::{Failure, revision_value};
use crate::audit::Record;
use crate::caller::Connection;

/// Names a request in its answer, in the log and in the audit log.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives requests their ids: unlike those of another start, and short.
#[derive(Debug)]
pub(super) struct RequestIds {
    start: u32,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        let (start, ..) = Uuid::new_v4().as_fields();
        Self { start, next: AtomicU64::new(1) }
    }
}

impl RequestIds {
    fn next(&self) -> String {
        format!("{:08x}-{:x}", self.start, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

pub(super) async fn around(
    State(broker): State<Arc<Broker>>,
    request: Request,
    next: Next,
) -> Response {
    let id = broker.request_ids.next();
    let span = error_span!("request", id);
    let asked = Asked {
        route: request.extensions().get::<MatchedPath>().cloned(),
        method: request.method().clone(),
        uri: request.uri().clone(),
        connection: request.extensions().get::<Arc<Connection>>().cloned(),
        id,
    };
    let answered = async {
        let outcome = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let response = outcome.unwrap_or_else(|_| panicked(&broker, &asked));
        finish(&broker, &asked, response)
    };
    answered.instrument(span).await
}

/// What is known of a request before it is answered.
struct Asked {
    route: Option<MatchedPath>,
    method: Method,
    uri: Uri,
    connection: Option<Arc<Connection>>,
    id: String,
}

impl Asked {
    fn route(&self) -> &str {
        self.route.as_ref().map_or("unknown", MatchedPath::as_str)
    }
}

fn panicked(broker: &Broker, asked: &Asked) -> Response {
    broker.metrics.panicked();
    error!(method = %asked.method, route = asked.route(), "a request panicked");
    Failure::from(Problem::new(Code::Internal, "the broker failed; its log says where"))
        .into_response()
}

fn finish(broker: &Broker, asked: &Asked, mut response: Response) -> Response {
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
    if let Ok(id) = HeaderValue::try_from(&asked.id) {
        headers.insert(REQUEST_ID, id);
    }
    broker.metrics.answered(&asked.method, asked.route(), status);
    debug!(method = %asked.method, path = asked.uri.path(), status = status.as_u16(), "answered");
    if let Some(action) = Action::of(&asked.method, asked.route(), &asked.uri) {
        let code = response.extensions().get::<Code>().copied();
        broker.metrics.decided(action.name(), status, code.map(Code::name));
        if action.is_told(status) {
            broker.audit.tell(&record(broker, asked, action, &response));
        }
    }
    response
}

fn record(broker: &Broker, asked: &Asked, action: Action, response: &Response) -> Record {
    let peer = asked.connection.as_ref().and_then(|connection| connection.named());
    let about = response.extensions().get::<About>().cloned().unwrap_or_default();
    Record {
        at: moment::text(broker.store.view().now()),
        request: asked.id.clone(),
        by: peer.map(|peer| peer.id.to_string()),
        administrator: peer.is_some_and(|peer| peer.administrator),
        on_behalf_of: about.on_behalf_of,
        action: action.name(),
        object: about.object.or_else(|| action.object(&asked.uri)),
        status: response.status().as_u16(),
        code: response.extensions().get::<Code>().map(ToString::to_string),
    }
}
