//! Answers: bodies with the state that they were made from, and errors that say what is wrong.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use http_body_util::{LengthLimitError, Limited};
use hyper::body::Body as _;
use rear_api::body::{BodyError, Invalid, MAX_BODY_LENGTH};
use rear_api::problem::{Code, MEDIA_TYPE, Names, Problem};
use rear_api::revision::{Position, REVISION_HEADER};
use rear_engine::{ClusterId, Refusal};
use rear_store::SubmitError;
use serde::Serialize;
use tokio::time::timeout;

use crate::limits::BODY_DEADLINE;
use crate::room::{GatherError, Room, gather};

/// What is suggested to clients that come at a bad moment.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// Most answers are shorter: their bytes need not be moved while they are written.
const MOST_ANSWERS: usize = 1024;

/// A body with the state that it was made from.
pub fn json(status: StatusCode, body: &impl Serialize, revision: Position) -> Response<Body> {
    let written = |text| written(status, text, revision);
    json_text(body).map_or_else(IntoResponse::into_response, written)
}

/// The text of a body.
pub(crate) fn json_text(body: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::with_capacity(MOST_ANSWERS);
    let written = serde_json::to_writer(&mut text, body);
    written.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(text)
}

/// A body that is text already.
pub(crate) fn written(status: StatusCode, json: Vec<u8>, revision: Position) -> Response<Body> {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(REVISION, revision_value(revision));
    response
}

/// The header that names a state.
pub(crate) const REVISION: HeaderName = HeaderName::from_static(REVISION_HEADER);

/// The value of the header that names a state.
#[must_use]
pub fn revision_value(revision: Position) -> HeaderValue {
    // Two numbers and a dot are always a header's value.
    HeaderValue::try_from(revision.to_string()).unwrap_or(HeaderValue::from_static("0.0"))
}

/// An error, ready to be sent.
#[derive(Debug)]
pub struct Failure {
    problem: Box<Problem>,
    retry_after: Option<Duration>,
}

impl Failure {
    /// Too often, or at a bad moment: come again later.
    #[must_use]
    pub fn later(problem: Problem, after: Duration) -> Self {
        Self { problem: Box::new(problem), retry_after: Some(after) }
    }

    /// There is nothing here, or nothing for the caller.
    #[must_use]
    pub fn not_found(code: Code) -> Self {
        Problem::new(code, code.title()).into()
    }

    /// How the store says no.
    #[must_use]
    pub fn of(error: &SubmitError, names: Names) -> Self {
        match error {
            SubmitError::Refused(refusal) => Problem::refused(refusal, names).into(),
            SubmitError::Overloaded
            | SubmitError::ClockJumped(_)
            | SubmitError::NotDurable(_)
            | SubmitError::CutOff(_)
            | SubmitError::Stopped(_) => {
                Self::later(Problem::new(Code::NotReady, error.to_string()), SOON)
            }
        }
    }
}

/// What an error says, for those who remember it.
#[derive(Debug, Clone)]
pub(crate) struct Detail(pub(crate) String);

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), retry_after: None }
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Problem::from(&error).into()
    }
}

impl From<Invalid> for Failure {
    fn from(error: Invalid) -> Self {
        Problem::from(&error).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Problem::refused(&refusal, Names::LeftOut).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        let bytes = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Some(code) = self.problem.known_code() {
            // For the audit log and the metrics.
            response.extensions_mut().insert(code);
            response.extensions_mut().insert(Detail(self.problem.detail.clone()));
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(after) = self.retry_after {
            // Whole seconds, at least one: a client that waits less comes too early.
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}

/// The whole of a caller's body, if it is short enough, comes in time, and there is room for it.
pub async fn whole_body(body: Body, room: &Room, by: &ClusterId) -> Result<Bytes, Failure> {
    if body.size_hint().lower() > MAX_BODY_LENGTH as u64 {
        // Before it is sent, where the client waits for leave (`Expect: 100-continue`).
        return Err(BodyError::TooLarge.into());
    }
    let mut whole = pin!(gather(Limited::new(body, MAX_BODY_LENGTH), room, by));
    let at_once = soon(whole.as_mut()).await.map(Ok);
    let whole = match at_once {
        Some(whole) => whole,
        None => timeout(BODY_DEADLINE, whole).await,
    };
    match whole {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(GatherError::NoRoom(failure))) => Err(failure),
        Ok(Err(GatherError::Body(error))) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(BodyError::TooLarge.into())
        }
        Ok(Err(GatherError::Body(error))) => {
            Err(Problem::new(Code::Unreadable, error.to_string()).into())
        }
        Err(_) => Err(Problem::new(Code::TooSlow, "the body took too long to arrive").into()),
    }
}

/// What is there at once, or when it is looked for once more: most bodies come with their heads, but are handed on only
/// when someone waits for them. No clock is needed for these.
async fn soon<F: Future>(mut wanted: Pin<&mut F>) -> Option<F::Output> {
    let mut looks = 2;
    poll_fn(move |context| {
        looks -= 1;
        match wanted.as_mut().poll(context) {
            Poll::Ready(there) => Poll::Ready(Some(there)),
            Poll::Pending if looks == 0 => Poll::Ready(None),
            Poll::Pending => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}
