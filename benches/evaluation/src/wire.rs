//! A proxy that counts what passes, in bytes, each way.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A proxy before a broker. Dropping it takes no new connections.
pub(crate) struct Counted {
    pub(crate) address: String,
    counts: Arc<Counts>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Counts {
    up: AtomicU64,
    down: AtomicU64,
    connections: AtomicU64,
}

/// What has passed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// From agents to the broker.
    pub(crate) up: u64,
    /// From the broker to agents.
    pub(crate) down: u64,
    /// How many connections there have been.
    pub(crate) connections: u64,
}

impl Counted {
    pub(crate) async fn before(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("https://{}", listener.local_addr()?);
        let counts = Arc::new(Counts::default());
        let accepting = tokio::spawn(accept(listener, target, counts.clone()));
        Ok(Self { address, counts, accepting })
    }

    pub(crate) fn passed(&self) -> Passed {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { up, down, connections } = &*self.counts;
        Passed { up: read(up), down: read(down), connections: read(connections) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, counts: Arc<Counts>) {
    while let Ok((client, _)) = listener.accept().await {
        counts.connections.fetch_add(1, Ordering::Relaxed);
        let counts = counts.clone();
        tokio::spawn(async move {
            // Without a broker, the client sees a connection that is closed at once.
            let Ok(broker) = TcpStream::connect(target).await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_broker, to_broker) = broker.into_split();
            tokio::select! {
                () = copy(from_client, to_broker, &counts.up) => {}
                () = copy(from_broker, to_client, &counts.down) => {}
            }
        });
    }
}

/// Until one side is gone. What was handed on is counted.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) {
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_byte_is_counted_on_its_way() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Counted::before(listener.local_addr().unwrap()).await.unwrap();
        let place = proxy.address.strip_prefix("https://").unwrap().to_owned();
        let mut client = TcpStream::connect(place).await.unwrap();
        client.write_all(&vec![1; 40_000]).await.unwrap();
        let (mut broker, _) = listener.accept().await.unwrap();
        broker.read_exact(&mut vec![0; 40_000]).await.unwrap();
        broker.write_all(&[2; 123]).await.unwrap();
        client.read_exact(&mut [0; 123]).await.unwrap();
        // What has arrived may be counted a moment later.
        while proxy.passed() != (Passed { up: 40_000, down: 123, connections: 1 }) {
            tokio::task::yield_now().await;
        }
    }
}
