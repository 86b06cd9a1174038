//! A listener of which only the newest connections live: whoever holds many, or one for long, keeps nobody else out.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A kubelet and a Prometheus or two have one each.
const MAX_CONNECTIONS: usize = 64;

pub(super) struct Newest {
    socket: TcpListener,
    /// Dropping one ends its connection; those of connections that have ended are here until it is their turn.
    living: VecDeque<oneshot::Sender<()>>,
}

impl Newest {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self { socket, living: VecDeque::with_capacity(MAX_CONNECTIONS) }
    }
}

impl Listener for Newest {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.socket).await;
        if self.living.len() == MAX_CONNECTIONS {
            self.living.pop_front();
        }
        let (alive, ended) = oneshot::channel();
        self.living.push_back(alive);
        (Connection { stream, ended }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

pub(super) struct Connection {
    stream: TcpStream,
    ended: oneshot::Receiver<()>,
}

impl Connection {
    /// The stream, unless newer ones have taken its place.
    fn living(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match Pin::new(&mut self.ended).poll(context) {
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
            Poll::Ready(_) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.living(context)?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.living(context)?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.living(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::*;

    /// What takes longer is stuck.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn whoever_holds_every_place_keeps_nobody_out() {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let router = Router::new().route("/healthz", get(async || "ok"));
        tokio::spawn(async move { axum::serve(Newest::new(socket), router).await });
        let mut held = Vec::new();
        for _ in 0..=MAX_CONNECTIONS {
            let mut silent = TcpStream::connect(address).await.unwrap();
            silent.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
            held.push(silent);
        }
        let mut kubelet = TcpStream::connect(address).await.unwrap();
        let request = b"GET /healthz HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n";
        kubelet.write_all(request).await.unwrap();
        let mut answer = String::new();
        kubelet.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
        // Reset or closed: the oldest is gone.
        let mut rest = [0; 64];
        let oldest = timeout(PATIENCE, held[0].read(&mut rest)).await.expect("it is closed");
        assert_eq!(oldest.unwrap_or(0), 0);
        held[MAX_CONNECTIONS].write_all(b"Host: a\r\n\r\n").await.unwrap();
        assert!(held[MAX_CONNECTIONS].read(&mut [0; 64]).await.unwrap() > 0, "a new one lives");
    }
}
