//! Around every request: it gets an id, a panic becomes an answer, every answer names its state, everything is counted, and
//! who changed something is told to the audit log.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HeaderName};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use rear_api::moment;
use rear_api::problem::{Code, Problem};
use rear_engine::ClusterId;
use tower::Service;
use tracing::{debug, error};
use uuid::Uuid;

use super::actions::{About, Action};
use super::finished::Finished;
use super::{addresses, router};
use crate::answer::{Detail, Failure, REVISION, revision_value};
use crate::audit::Record;
use crate::broker::Broker;
use crate::caller::Connection;
use crate::freshness;
use crate::limits::{CHANGING_LATER, MAX_CHANGING};
use crate::listen::Answers;
use crate::refusals::Refused;
use crate::room::hold;
use crate::tally::Taken;

/// Names a request in its answer, in the log and in the audit log.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives requests their ids: unlike those of another start, and short.
#[derive(Debug)]
pub(crate) struct RequestIds {
    start: String,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        let (start, ..) = Uuid::new_v4().as_fields();
        Self { start: format!("{start:08x}-"), next: AtomicU64::new(1) }
    }
}

impl RequestIds {
    fn next(&self) -> String {
        format!("{}{:x}", self.start, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// The API, with what is around every request.
#[derive(Clone)]
pub struct Api {
    broker: Arc<Broker>,
    router: Router,
}

impl Api {
    /// The API of this broker.
    #[must_use]
    pub fn new(broker: Arc<Broker>) -> Self {
        Self { router: router(broker.clone()), broker }
    }

    async fn routed(&mut self, mut request: Request, asked: &Asked) -> Response {
        let _turn = match turn(&self.broker, asked) {
            Ok(turn) => turn,
            Err(too_many) => return too_many.into_response(),
        };
        request.extensions_mut().insert(asked.connection.clone());
        match AssertUnwindSafe(self.router.call(request)).catch_unwind().await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => panicked(&self.broker, asked),
        }
    }
}

/// The place of a request among those that may change something or bring a body: nobody has so many that others find none,
/// for their changes or in memory.
fn turn(broker: &Broker, asked: &Asked) -> Result<Option<Taken<ClusterId>>, Failure> {
    let takes = asked.action.is_some() || asked.method == Method::POST;
    let caller = asked.connection.named().filter(|_| takes);
    let Some(turn) = caller.map(|caller| broker.changing.take(caller.id.clone())) else {
        return Ok(None);
    };
    if turn.own > MAX_CHANGING {
        let detail = format!("{MAX_CHANGING} requests of this caller wait already");
        return Err(Failure::later(Problem::new(Code::TooMany, detail), CHANGING_LATER));
    }
    Ok(Some(turn))
}

impl Answers for Api {
    async fn answer(mut self, request: Request, connection: Arc<Connection>) -> Response {
        let asked = Asked::of(&request, connection, self.broker.request_ids.next());
        let changes = asked.action.is_some_and(|action| action.is_told(StatusCode::OK));
        let (broker, id) = (self.broker.clone(), changes.then(|| asked.id.clone()));
        let answered = async move {
            let response = self.routed(request, &asked).await;
            let response = match asked.connection.named() {
                Some(caller) => hold(&self.broker.room, &caller.id, response)
                    .unwrap_or_else(IntoResponse::into_response),
                None => response,
            };
            finish(&self.broker, &asked, response)
        };
        if !changes {
            return answered.await;
        }
        // Whoever asked may go away: what they change is counted and told to the audit log all the same.
        Finished::new(answered).await.unwrap_or_else(|_| {
            broker.metrics.panicked();
            error!(request = id, "a request was not finished");
            failed()
        })
    }
}

/// What is known of a request before it is answered.
struct Asked {
    route: &'static str,
    method: Method,
    uri: Uri,
    /// What it does, if it does not only look.
    action: Option<Action>,
    connection: Arc<Connection>,
    id: String,
}

impl Asked {
    fn of(request: &Request, connection: Arc<Connection>, id: String) -> Self {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let route = addresses::of(uri.path());
        Self { route, action: Action::of(&method, route, &uri), method, uri, connection, id }
    }
}

fn panicked(broker: &Broker, asked: &Asked) -> Response {
    broker.metrics.panicked();
    error!(request = asked.id, method = %asked.method, route = asked.route, "a request panicked");
    failed()
}

fn failed() -> Response {
    Failure::from(Problem::new(Code::Internal, "the broker failed; its log says where"))
        .into_response()
}

fn finish(broker: &Broker, asked: &Asked, mut response: Response) -> Response {
    let status = response.status();
    let headers = response.headers_mut();
    if !headers.contains_key(REVISION) {
        let position = broker.store.view().position();
        headers.insert(REVISION, revision_value(position));
    }
    freshness::mark(&broker.store, headers);
    if status == StatusCode::UNAUTHORIZED {
        // Another certificate needs another connection. HTTP/2 has no such header: there `converse` ends it.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Ok(id) = HeaderValue::try_from(&asked.id) {
        headers.insert(REQUEST_ID, id);
    }
    broker.metrics.answered(&asked.method, asked.route, status);
    let (request, path) = (&asked.id, asked.uri.path());
    debug!(request, method = %asked.method, path, status = status.as_u16(), "answered");
    if let Some(action) = asked.action {
        let code = response.extensions().get::<Code>().copied();
        broker.metrics.decided(action.name(), status, code.map(Code::name));
        if is_cheap(status) && !broker.turned_away.may_be_told() {
            return response;
        }
        if let Some(code) = code {
            broker.refusals.push(refused(broker, asked, action, code, &response));
        }
        // While no line can be written, only what was changed just before has one: anyone can be refused as often as they like.
        let is_writable = || broker.audit.trouble().is_none();
        if action.is_told(status) && (status.is_success() || is_writable()) {
            broker.audit.tell(&record(broker, asked, action, &response));
        }
    }
    response
}

/// Whether anyone can be answered so, as often as they like: also without a certificate that counts, or beyond their limit.
fn is_cheap(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS)
}

fn refused(
    broker: &Broker,
    asked: &Asked,
    action: Action,
    code: Code,
    response: &Response,
) -> Refused {
    let detail = response.extensions().get::<Detail>();
    Refused {
        at: moment::text(broker.store.view().now()),
        by: asked.connection.named().map(|peer| peer.id.to_string()),
        action: action.name(),
        code: code.name(),
        detail: detail.map(|Detail(text)| text.clone()).unwrap_or_default(),
    }
}

fn record(broker: &Broker, asked: &Asked, action: Action, response: &Response) -> Record {
    let peer = asked.connection.named();
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

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use http_body_util::BodyExt;

    use super::*;

    async fn panics() {
        panic!("a secret")
    }

    #[tokio::test]
    async fn a_request_that_panics_is_answered_without_saying_why() {
        let (broker, _) = crate::broker::tests::broker();
        let router = Router::new().route("/healthz", get(panics));
        let api = Api { broker: Arc::new(broker), router };
        let request = Request::get("/healthz").body(Body::empty()).unwrap();
        let connection = Arc::new(Connection::nearby(([127, 0, 0, 1], 1).into()));
        let answer = api.answer(request, connection).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.headers().contains_key(REQUEST_ID));
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let problem: Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.known_code(), Some(Code::Internal));
        assert!(!problem.detail.contains("secret"), "{}", problem.detail);
    }
}
