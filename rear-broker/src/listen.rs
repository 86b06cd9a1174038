//! The listener: accepts connections, knows who is at the other end, and ends what takes too long.

mod deadlines;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use crate::caller::Connection;
use crate::identity::Administrators;
use crate::limits::{
    HANDSHAKE_DEADLINE, MAX_CONNECTION_AGE, MAX_HEADER_BYTES, MAX_HEADERS, MAX_PENDING_RESETS,
    MAX_STREAMS,
};
use crate::metrics::Metrics;
use crate::tls::Trust;
use deadlines::{InFlight, Timed};

/// Waits until it is time to stop.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error is a broker that is gone: that is also an end.
    drop(stopping.wait_for(|stop| *stop).await);
}

/// What answers the requests of a listener.
pub trait Answers: Clone + Send + Sync + 'static {
    /// Answers a request, whatever happens.
    fn answer(
        self,
        request: Request<Body>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Everything that a listener needs.
pub struct Listener<A> {
    /// Where clients come in.
    pub socket: TcpListener,
    /// What the broker shows and believes.
    pub trust: Arc<Trust>,
    /// How administrators are told from clusters.
    pub administrators: Arc<Administrators>,
    /// What answers.
    pub answers: A,
    /// How many connections may be open at once.
    pub connections: Arc<Semaphore>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Turns true when it is time to stop.
    pub stopping: watch::Receiver<bool>,
}

impl Listener<()> {
    /// The same, with something that answers.
    pub fn answered_by<A: Answers>(self, answers: A) -> Listener<A> {
        let Self { socket, trust, administrators, answers: (), connections, metrics, stopping } =
            self;
        Listener { socket, trust, administrators, answers, connections, metrics, stopping }
    }
}

impl<A: Answers> Listener<A> {
    /// Accepts until it is time to stop, then waits until every connection has ended.
    pub async fn run(self) {
        let (open, mut all_closed) = tokio::sync::mpsc::channel::<Infallible>(1);
        let mut stopping = self.stopping.clone();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = stopped(&mut stopping) => break,
            };
            match accepted {
                Ok((stream, address)) => self.welcome(stream, address, open.clone()),
                Err(error) => {
                    // Mostly too many open files: the next one may be better.
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "a connection was not accepted"
                    );
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // Whoever comes now is told at once that nobody is here, and tries elsewhere or later.
        drop(self.socket);
        drop(open);
        // Ends when the last connection has dropped its end.
        let _ = all_closed.recv().await;
    }

    fn welcome(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        open: tokio::sync::mpsc::Sender<Infallible>,
    ) {
        let Ok(place) = self.connections.clone().try_acquire_owned() else {
            self.metrics.connection_refused();
            return warn!(%address, "too many connections: this one is closed");
        };
        let guest = Guest {
            trust: self.trust.clone(),
            administrators: self.administrators.clone(),
            answers: self.answers.clone(),
            metrics: self.metrics.clone(),
            stopping: self.stopping.clone(),
        };
        tokio::spawn(async move {
            guest.metrics.connection_opened();
            if let Some(stream) = guest.shake_hands(stream, address).await {
                guest.serve(stream, address).await;
            }
            guest.metrics.connection_closed();
            drop((place, open));
        });
    }
}

/// One connection.
struct Guest<A> {
    trust: Arc<Trust>,
    administrators: Arc<Administrators>,
    answers: A,
    metrics: Arc<Metrics>,
    stopping: watch::Receiver<bool>,
}

impl<A: Answers> Guest<A> {
    async fn shake_hands(
        &self,
        stream: TcpStream,
        address: SocketAddr,
    ) -> Option<TlsStream<TcpStream>> {
        // Answers are small: waiting to fill a packet helps nobody.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%address, %error, "the connection ended before it began");
            return None;
        }
        let acceptor = TlsAcceptor::from(self.trust.server_config());
        match timeout(HANDSHAKE_DEADLINE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                self.metrics.handshake_failed();
                debug!(%address, %error, "the handshake failed");
                None
            }
            Err(_) => {
                self.metrics.handshake_failed();
                debug!(%address, "the handshake took too long");
                None
            }
        }
    }

    async fn serve(&self, stream: TlsStream<TcpStream>, address: SocketAddr) {
        let (_, session) = stream.get_ref();
        let has_heads = session.alpn_protocol() != Some(b"h2");
        let chain = session.peer_certificates().unwrap_or_default();
        let connection = Connection::new(chain, &self.administrators, &self.trust, address);
        let connection = Arc::new(connection);
        let in_flight = InFlight::default();
        let stream = TokioIo::new(Timed::new(stream, in_flight.clone(), has_heads));
        let service = service_fn(|request: Request<Incoming>| {
            self.answer(request, connection.clone(), &in_flight)
        });
        let builder = http();
        let mut serving = pin!(builder.serve_connection(stream, service));
        let mut stopping = self.stopping.clone();
        let too_old = tokio::time::sleep(MAX_CONNECTION_AGE);
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = too_old => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
            () = stopped(&mut stopping) => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        if let Err(error) = ended {
            debug!(%address, %error, "the connection ended");
        }
    }

    fn answer(
        &self,
        request: Request<Incoming>,
        connection: Arc<Connection>,
        in_flight: &InFlight,
    ) -> impl Future<Output = Result<Response<Guarded>, Infallible>> + Send + use<A> {
        let flight = in_flight.begin();
        let answered = self.answers.clone().answer(request.map(Body::new), connection);
        // The request is answered when the last byte of the answer is gone.
        answered.map(|response| Ok(response.map(|body| Guarded { body, _flight: flight })))
    }
}

fn http() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
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

/// The body of an answer, which holds on to its request.
struct Guarded {
    body: Body,
    _flight: deadlines::Flight,
}

impl hyper::body::Body for Guarded {
    type Data = <Body as hyper::body::Body>::Data;
    type Error = <Body as hyper::body::Body>::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
