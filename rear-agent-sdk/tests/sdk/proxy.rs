//! A proxy in the middle that can hold answers back, cut connections, and lead elsewhere.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: tokio::task::AbortHandle,
}

struct Shared {
    target: Mutex<SocketAddr>,
    /// While true, what the broker answers is thrown away.
    mute: watch::Sender<bool>,
    /// Counted up to cut every connection there is.
    cuts: watch::Sender<u32>,
    /// How many there have been.
    taken: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            mute: watch::Sender::new(false),
            cuts: watch::Sender::new(0),
            taken: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Self { address, shared, accepting }
    }

    /// Cuts every connection, and takes no other.
    pub(crate) async fn close(&self) {
        self.accepting.abort();
        while TcpStream::connect(self.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        self.cut();
    }

    /// From now on, answers are lost.
    pub(crate) fn lose_answers(&self) {
        self.shared.mute.send_replace(true);
    }

    /// Cuts every connection; new ones work.
    pub(crate) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
        self.shared.mute.send_replace(false);
    }

    /// How many connections it has taken so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.taken.load(Ordering::SeqCst)
    }

    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *self.shared.target.lock().unwrap() = target;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        shared.taken.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(client, shared.clone()));
    }
}

async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let mut cuts = shared.cuts.subscribe();
    let target = *shared.target.lock().unwrap();
    // Without a target, the client sees a connection that is closed at once.
    let Ok(broker) = TcpStream::connect(target).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_broker, to_broker) = broker.into_split();
    let never = watch::Sender::new(false);
    tokio::select! {
        _ = cuts.changed() => {}
        () = copy(from_client, to_broker, never.subscribe()) => {}
        () = copy(from_broker, to_client, shared.mute.subscribe()) => {}
    }
}

/// Until one side is gone.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mute: watch::Receiver<bool>,
) {
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if !*mute.borrow() && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
