//! `rear-broker serve`: from a data directory and certificates to a broker that answers, and to its end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rear_api::problem::Names;
use rear_store::clock::SystemClock;
use rear_store::store::StartError;
use rear_store::{Commit, FileError, RedbJournal, Settings, Store};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, Semaphore, watch};
use tracing::{error, info};
use uuid::Uuid;

use crate::identity::Administrators;
use crate::limits::MAX_CONNECTIONS;
use crate::listen::Listener;
use crate::metrics::Metrics;
use crate::operations::{self, BindAddress};
use crate::routes::{Broker, router};
use crate::tls::{CredentialError, Credentials, Trust, watch as watch_certificates};

/// The ledger's file in the data directory.
const LEDGER: &str = "ledger.redb";

/// How long accepted requests may take to finish when the broker stops.
const GRACE: Duration = Duration::from_secs(25);

/// How often those who have not asked for long are forgotten.
const TIDY_EVERY: Duration = Duration::from_mins(1);

/// Everything that an operator decides.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the ledger is.
    pub data: PathBuf,
    /// Where the API listens.
    pub address: SocketAddr,
    /// Where `tls.crt`, `tls.key` and `ca.crt` are.
    pub certificates: PathBuf,
    /// Where the metrics are.
    pub metrics: BindAddress,
    /// How administrators are told from clusters.
    pub administrators: Administrators,
    /// What the store is told.
    pub settings: Settings,
    /// How a commit reaches the disk.
    pub commit: Commit,
    /// Whether requesters learn the names of clusters that they do not get.
    pub names: Names,
}

/// Why the broker cannot serve, or cannot any more.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The data directory cannot be used.
    #[error("the data directory {} cannot be used", path.display())]
    Data {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The ledger's file cannot be used.
    #[error("the ledger cannot be opened")]
    File(#[from] FileError),
    /// The ledger cannot be used.
    #[error("the ledger cannot be used")]
    Ledger(#[from] StartError),
    /// The certificates cannot be used.
    #[error("the certificates cannot be used")]
    Certificates(#[from] CredentialError),
    /// Nobody can be let in.
    #[error("{address} cannot be listened on")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Signals cannot be received.
    #[error("signals cannot be received")]
    Signals(#[source] std::io::Error),
    /// The store has stopped while the broker ran: a restart recovers.
    #[error("the store has stopped: {0}")]
    Stopped(String),
}

/// Serves until it is told to stop, or the ledger fails.
pub async fn serve(options: Options) -> Result<(), ServeError> {
    let store = open(&options)?;
    let trust = Arc::new(Trust::new(Credentials::read(&options.certificates)?));
    let metrics = Arc::new(Metrics::new());
    metrics.certificate_expires(trust.credentials().expires_at);
    let (stop, stopping) = watch::channel(false);
    let broker = Arc::new(Broker::new(store, options.names, metrics.clone(), stopping.clone()));
    metrics.watch(&broker);
    let address = options.address;
    let socket = bind(address).await?;
    let mut metrics_at = None;
    if let BindAddress(Some(address)) = options.metrics {
        let socket = bind(address).await?;
        metrics_at = socket.local_addr().ok();
        let router = operations::metrics(metrics.clone());
        tokio::spawn(operations::run(socket, router, stopping.clone()));
    }
    let listening = socket.local_addr().unwrap_or(address);
    let listener = Listener {
        socket,
        trust: trust.clone(),
        administrators: Arc::new(options.administrators.clone()),
        router: router(broker.clone()),
        connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        metrics: metrics.clone(),
        stopping,
    };
    let reload = Arc::new(Notify::new());
    let certificates = options.certificates.clone();
    let reloading = tokio::spawn(watch_certificates(trust, certificates, metrics, reload.clone()));
    let tidying = tokio::spawn(tidy(broker.clone()));
    let metrics_at = metrics_at.map_or_else(|| "nowhere".to_owned(), |at| at.to_string());
    info!(address = %listening, metrics = metrics_at, data = %options.data.display(), "serving");
    let running = tokio::spawn(listener.run());
    let reason = wait_for_the_end(&broker, &reload).await;
    // Receivers are there as long as anyone listens.
    stop.send_replace(true);
    if tokio::time::timeout(GRACE, running).await.is_err() {
        error!("some requests took too long to finish");
    }
    reloading.abort();
    tidying.abort();
    info!("stopped");
    reason
}

async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let socket = TcpListener::bind(address).await;
    socket.map_err(|source| ServeError::Listen { address, source })
}

fn open(options: &Options) -> Result<Store, ServeError> {
    let data = |source| ServeError::Data { path: options.data.clone(), source };
    std::fs::create_dir_all(&options.data).map_err(data)?;
    let journal = open_ledger(&options.data.join(LEDGER), options.commit)?;
    Ok(Store::start(journal, options.settings.clone(), SystemClock::default())?)
}

fn open_ledger(path: &Path, commit: Commit) -> Result<RedbJournal, FileError> {
    if path.exists() {
        return RedbJournal::open(path, commit);
    }
    info!(path = %path.display(), "a new ledger is made");
    RedbJournal::create(path, Uuid::new_v4().as_u128(), commit)
}

async fn tidy(broker: Arc<Broker>) {
    loop {
        tokio::time::sleep(TIDY_EVERY).await;
        broker.tidy();
    }
}

/// A signal, or the end of the store.
async fn wait_for_the_end(broker: &Broker, reload: &Notify) -> Result<(), ServeError> {
    let listen = |kind| signal(kind).map_err(ServeError::Signals);
    let (mut terminate, mut interrupt, mut hang_up) = (
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
        listen(SignalKind::hangup())?,
    );
    let mut health = broker.store.health();
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hang_up.recv() => reload.notify_one(),
            failed = health.wait_for(|health| health.failure.is_some()) => {
                let why = failed.ok().and_then(|health| health.failure.clone());
                return Err(ServeError::Stopped(why.unwrap_or_default()));
            }
        }
    }
}
