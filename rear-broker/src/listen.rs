//! The listener: accepts connections, knows who is at the other end, and ends what takes too long.

mod converse;
mod deadlines;
mod lingering;
mod places;
mod plain;
mod taking;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use crate::caller::Connection;
use crate::identity::Administrators;
use crate::limits::HANDSHAKE_DEADLINE;
use crate::metrics::Metrics;
use crate::tls::Trust;
use converse::{Protocol, converse};
use places::Place;
use taking::Takers;

pub use places::Places;
pub use plain::run as run_plain;

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
    ) -> impl Future<Output = Response<Body>> + Send + 'static;
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
    /// How many connections may be open at once, and by whom.
    pub places: Arc<Places>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Turns true when it is time to stop.
    pub stopping: watch::Receiver<bool>,
}

impl Listener<()> {
    /// The same, with something that answers.
    pub fn answered_by<A: Answers>(self, answers: A) -> Listener<A> {
        let Self { socket, trust, administrators, answers: (), places, metrics, stopping } = self;
        Listener { socket, trust, administrators, answers, places, metrics, stopping }
    }
}

impl<A: Answers> Listener<A> {
    /// Accepts until it is time to stop, then waits until every connection has ended.
    pub async fn run(self) {
        let (open, mut all_closed) = tokio::sync::mpsc::channel::<Infallible>(1);
        let mut stopping = self.stopping.clone();
        let takers = Arc::<Takers>::default();
        let mut watching = std::pin::pin!(takers.watch());
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = stopped(&mut stopping) => break,
                never = &mut watching => match never {},
            };
            match accepted {
                Ok((stream, address)) => self.welcome(stream, address, &takers, open.clone()),
                Err(error) => not_accepted(&error).await,
            }
        }
        // Whoever comes now is told at once that nobody is here, and tries elsewhere or later.
        drop(self.socket);
        drop(open);
        // Ends when the last connection has dropped its end.
        tokio::select! {
            _ = all_closed.recv() => {}
            never = watching => match never {},
        }
    }

    fn welcome(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        takers: &Arc<Takers>,
        open: tokio::sync::mpsc::Sender<Infallible>,
    ) {
        let Some(place) = self.places.take() else {
            self.metrics.connection_refused();
            return warn!(%address, "too many connections: this one is closed");
        };
        let guest = Guest {
            trust: self.trust.clone(),
            administrators: self.administrators.clone(),
            answers: self.answers.clone(),
            metrics: self.metrics.clone(),
            takers: takers.clone(),
            stopping: self.stopping.clone(),
        };
        tokio::spawn(async move {
            guest.metrics.connection_opened();
            if let Some(stream) = guest.shake_hands(stream, address).await {
                guest.serve(stream, address, place).await;
            }
            guest.metrics.connection_closed();
            drop(open);
        });
    }
}

/// One connection.
struct Guest<A> {
    trust: Arc<Trust>,
    administrators: Arc<Administrators>,
    answers: A,
    metrics: Arc<Metrics>,
    takers: Arc<Takers>,
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

    async fn serve(&self, stream: TlsStream<TcpStream>, address: SocketAddr, mut place: Place) {
        let (_, session) = stream.get_ref();
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let protocol = if is_http2 { Protocol::Http2 } else { Protocol::Http1 };
        let chain = session.peer_certificates().unwrap_or_default();
        let connection = Connection::new(chain, &self.administrators, &self.trust, address);
        if !place.belongs_to(connection.named().map(|peer| &peer.id)) {
            self.metrics.connection_refused();
            return warn!(%address, "too many connections of one caller: this one is closed");
        }
        let connection = Arc::new(connection);
        let answer =
            |request: Request<Body>| self.answers.clone().answer(request, connection.clone());
        let stopping = self.stopping.clone();
        converse(stream, protocol, &self.takers, address, stopping, answer).await;
    }
}

/// Mostly too many open files: the next one may be better.
async fn not_accepted(error: &std::io::Error) {
    warn!(%error, "a connection was not accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}
