//! What is left of a body when its request is answered already, because it is too long or nobody wants it: taken for a while.
//!
//! A client that is still sending when the connection is closed finds it broken, and mostly never sees its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::http::header::EXPECT;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::limits::{BODY_DEADLINE, LEFT_OVER_PAUSE, MAX_LEFT_OVER};

/// A body whose rest is taken when nobody wants it any more.
struct Lingering {
    /// Nothing once it has ended.
    body: Option<Incoming>,
    /// Whether it comes without being asked for: a client that waits for leave to send is not given it for nothing.
    comes: bool,
}

/// The same request, with a body whose rest is taken.
pub(super) fn lingering(request: Request<Incoming>) -> Request<Body> {
    let comes = !request.headers().contains_key(EXPECT);
    request.map(|body| {
        if hyper::body::Body::is_end_stream(&body) {
            return Body::empty();
        }
        Body::new(Lingering { body: Some(body), comes })
    })
}

impl hyper::body::Body for Lingering {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.comes = true;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let next = Pin::new(body).poll_frame(context);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), hyper::body::Body::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|rest| !hyper::body::Body::is_end_stream(rest));
        // Without a runtime nothing is served any more.
        if let (Some(rest), true, Ok(runtime)) = (rest, self.comes, Handle::try_current()) {
            runtime.spawn(take(rest));
        }
    }
}

/// Takes what comes and throws it away, until it ends, pauses, or is enough.
async fn take(mut rest: Incoming) {
    let mut left = MAX_LEFT_OVER;
    let all = async {
        while let Ok(Some(Ok(frame))) = timeout(LEFT_OVER_PAUSE, rest.frame()).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(less) = left.checked_sub(length) else { return };
            left = less;
        }
    };
    // Whoever is not done by then finds the connection closed.
    drop(timeout(BODY_DEADLINE, all).await);
}
