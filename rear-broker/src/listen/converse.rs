//! One connection, from its first request to its end.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tracing::debug;

use super::deadlines::{InFlight, Timed};
use super::lingering::lingering;
use super::stopped;
use super::taking::{Guarded, Takers};
use crate::limits::{
    LAST_ANSWERS, MAX_CONNECTION_AGE, MAX_HEADER_BYTES, MAX_PENDING_RESETS, MAX_STREAMS,
};

/// Which HTTP was agreed on. The other one is not listened to: its requests would not be held to the right deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Answers whatever is asked on a connection until it ends, is too old, does not take its answers, belongs to nobody that counts,
/// or it is time to stop.
pub(super) async fn converse<C, F>(
    connection: C,
    protocol: Protocol,
    takers: &Arc<Takers>,
    address: SocketAddr,
    mut stopping: watch::Receiver<bool>,
    answer: impl Fn(Request<Body>) -> F,
) where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let in_flight = InFlight::default();
    let taker = takers.join();
    let has_heads = protocol == Protocol::Http1;
    let unwelcome = Arc::<Notify>::default();
    let stream = TokioIo::new(Timed::new(connection, in_flight.clone(), has_heads));
    let service = service_fn(|request: Request<Incoming>| {
        // The request is answered when the last byte of the answer is gone.
        let (flight, taking) = (in_flight.begin(), taker.taking.clone());
        let unwelcome = unwelcome.clone();
        answer(lingering(request)).map(move |response| {
            // Another certificate needs another connection. At HTTP/1 a header says so, which HTTP/2 does not have.
            if protocol == Protocol::Http2 && response.status() == StatusCode::UNAUTHORIZED {
                unwelcome.notify_one();
            }
            Ok::<_, Infallible>(response.map(|body| Guarded::new(body, taking, flight)))
        })
    });
    let builder = http(protocol);
    let mut serving = pin!(builder.serve_connection(stream, service));
    let too_old = tokio::time::sleep(MAX_CONNECTION_AGE);
    let ended = tokio::select! {
        ended = serving.as_mut() => Some(ended),
        () = taker.taking.over() => return debug!(%address, "answers were not taken"),
        () = too_old => None,
        () = unwelcome.notified() => None,
        () = stopped(&mut stopping) => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        serving.as_mut().graceful_shutdown();
        let last = tokio::select! {
            last = timeout(LAST_ANSWERS, serving) => last,
            () = taker.taking.over() => return debug!(%address, "answers were not taken"),
        };
        let Ok(ended) = last else { return debug!(%address, "the last answers took too long") };
        ended
    };
    if let Err(error) = ended {
        debug!(%address, %error, "the connection ended");
    }
}

fn http(protocol: Protocol) -> Builder<TokioExecutor> {
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(MAX_HEADER_BYTES as usize * 4);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .keep_alive_interval(Duration::from_mins(1))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}
