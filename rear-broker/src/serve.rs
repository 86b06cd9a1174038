//! `rear-broker serve`: from a configuration to a broker that answers, and to its end.

mod doors;
mod lead;
mod signals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::daemon::leadership::{Held, LeaseError};
use rear_api::moment;
use rear_engine::Timestamp;
use rear_store::clock::{Clock, SystemClock};
use thiserror::Error;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use crate::audit::{Audit, AuditError};
use crate::broker::Broker;
use crate::config::{Config, ConfigErrors, Loaded};
use crate::files::raise_limit;
use crate::kubernetes::KubernetesError;
use crate::ledger::LedgerError;
use crate::limits::{MAX_CONNECTIONS, MAX_OPERATORS};
use crate::listen::{Listener, Places};
use crate::log::{Log, LogError};
use crate::metrics::Metrics;
use crate::operations;
use crate::reload::Changeable;
use crate::routes::{Api, probes};
use crate::supervisor::Supervisor;
use crate::tls::{CredentialError, Credentials, Trust, watch as watch_certificates};
use doors::Doors;
use signals::Wish;

pub(crate) use doors::Addresses;
pub(crate) use signals::Signals;

/// How long accepted requests may take to finish when the broker stops.
const GRACE: Duration = Duration::from_secs(25);

/// How often those who have not asked for long are forgotten.
const TIDY_EVERY: Duration = Duration::from_mins(1);

/// 2026-01-01: this program did not exist before. A machine without a battery begins at 1970.
const EARLIEST: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Why the broker cannot serve, or cannot any more.
#[derive(Debug, Error)]
pub enum ServeError {
    /// There is no ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The thread that opens the ledger has ended before.
    #[error("the ledger was not opened: the log says why")]
    NotOpened,
    /// The certificates cannot be used.
    #[error("the certificates cannot be used")]
    Certificates(#[from] CredentialError),
    /// Nobody can be let in.
    #[error("{address} cannot be listened on (the key `{key}` names another place)")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The key that says so.
        key: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The audit log cannot be written.
    #[error("the audit log cannot be opened")]
    Audit(#[from] AuditError),
    /// There is no log.
    #[error("the log cannot be started")]
    Log(#[from] LogError),
    /// The clock of this machine is not set.
    #[error(
        "the clock of this machine shows {}: certificates and promises need the right time; set it (`timedatectl set-ntp true`) and start again",
        moment::text(*.0)
    )]
    Clock(Timestamp),
    /// Signals cannot be received.
    #[error("signals cannot be received")]
    Signals(#[source] std::io::Error),
    /// The Kubernetes interface cannot be served.
    #[error("the Kubernetes interface cannot be served")]
    Kubernetes(#[from] KubernetesError),
    /// It is not this copy's turn, or not any more.
    #[error("this copy cannot lead")]
    Lease(#[from] LeaseError),
    /// The store has stopped while the broker ran: a restart recovers.
    #[error(
        "the store has stopped: {0}; what was acknowledged is on the disk: set right what is wrong and start again"
    )]
    Stopped(String),
}

/// Serves until it is told to stop, or the ledger fails. `again` reads the configuration once more.
pub async fn serve<F>(loaded: Loaded, again: F) -> Result<(), ServeError>
where
    F: Fn() -> Result<Loaded, ConfigErrors>,
{
    let log = Log::start(&loaded.config)?;
    warn_about(&loaded);
    let mut config = loaded.config;
    let mut signals = Signals::of_a_service()?;
    let held = tokio::select! {
        held = lead::turn(&config) => held?,
        () = signals.stopping() => return Ok(()),
    };
    let mut house = House::build_in_turn(&config, log, held).await?;
    let supervisor = Supervisor::of_this_process();
    supervisor.ready();
    let reason = house.stay_open(signals, &mut config, again, &supervisor).await;
    supervisor.stopping();
    house.close().await;
    info!("stopped");
    reason
}

/// What is allowed, and probably not meant.
fn warn_about(loaded: &Loaded) {
    if loaded.config.leader_elect && !loaded.config.broker_interface.kubernetes {
        warn!("leader-elect means nothing with the http interface");
    }
    for name in &loaded.unknown_variables {
        warn!(name, "a variable in the environment looks like a key and is none");
    }
}

/// Everything that runs while the broker serves.
pub(crate) struct House {
    pub(crate) addresses: Addresses,
    changeable: Changeable,
    reload_certificates: Arc<Notify>,
    /// Turns true when nothing more is accepted.
    stop: watch::Sender<bool>,
    /// Turns true when everything that was accepted is answered.
    over: watch::Sender<bool>,
    api: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
    /// Why it cannot go on, told by what runs beside the API.
    failures: mpsc::Receiver<ServeError>,
}

impl House {
    pub(crate) async fn build(config: &Config, log: Log) -> Result<Self, ServeError> {
        Self::build_in_turn(config, log, None).await
    }

    /// The same for a copy that holds the Lease, if there is one.
    async fn build_in_turn(
        config: &Config,
        log: Log,
        held: Option<Held>,
    ) -> Result<Self, ServeError> {
        raise_limit();
        check_clock(SystemClock::default().read().wall)?;
        let certificates = config.certificates();
        let administrators = Arc::new(config.administrators());
        let trust = Arc::new(Trust::new(Credentials::read(&certificates)?));
        let audit = Audit::open(config.audit_log.as_deref())?;
        let store = lead::open_in_turn(config, held.is_some()).await?;
        let metrics = Arc::new(Metrics::new());
        metrics.certificate_expires(trust.credentials().expires_at);
        let (stop, stopping) = watch::channel(false);
        let (over, is_over) = watch::channel(false);
        let broker = Broker::new(
            store,
            config.telling(),
            metrics.clone(),
            stopping.clone(),
            config.rate_limit(),
            audit.clone(),
        );
        let broker = Arc::new(broker.for_administrators_only(!config.broker_interface.http));
        metrics.watch(&broker);
        let doors = Doors::open(config).await?;
        let addresses = doors.addresses(config.address());
        let Doors { api, metrics: metrics_at, probes: probes_at, operations } = doors;
        let listener = |socket, places, stopping: &watch::Receiver<bool>| Listener {
            socket,
            trust: trust.clone(),
            administrators: administrators.clone(),
            answers: (),
            places: Places::new(places),
            metrics: metrics.clone(),
            stopping: stopping.clone(),
        };
        let plain = |socket, router| tokio::spawn(operations::run(socket, router, is_over.clone()));
        let mut others = Vec::new();
        others.extend(metrics_at.map(|door| plain(door, operations::metrics(metrics.clone()))));
        others.extend(probes_at.map(|door| plain(door, probes(broker.clone()))));
        others.extend(operations.map(|door| {
            tokio::spawn(show_pages(listener(door, MAX_OPERATORS, &is_over), broker.clone()))
        }));
        let api = listener(api, MAX_CONNECTIONS, &stopping).answered_by(Api::new(broker.clone()));
        let reload_certificates = Arc::new(Notify::new());
        let watching =
            watch_certificates(trust.clone(), certificates, metrics, reload_certificates.clone());
        others.extend([tokio::spawn(watching), tokio::spawn(tidy(broker.clone()))]);
        let (fail, failures) = mpsc::channel(2);
        others.extend(serve_resources(config, &broker, held, fail));
        addresses.tell(&config.data);
        let api = tokio::spawn(api.run());
        let changeable = Changeable { broker, log, audit };
        Ok(Self { addresses, changeable, reload_certificates, stop, over, api, others, failures })
    }

    /// Until a signal, or the end of the store.
    pub(crate) async fn stay_open<F>(
        &mut self,
        mut signals: Signals,
        config: &mut Config,
        again: F,
        supervisor: &Supervisor,
    ) -> Result<(), ServeError>
    where
        F: Fn() -> Result<Loaded, ConfigErrors>,
    {
        let Self { changeable, reload_certificates, failures, .. } = self;
        let broker = &changeable.broker;
        let mut health = broker.store.health();
        let mut alive = std::pin::pin!(supervisor.keep_alive(broker));
        loop {
            tokio::select! {
                wish = signals.next() => match wish {
                    Wish::Stop => return Ok(()),
                    Wish::ReadAgain => {
                        reload_certificates.notify_one();
                        changeable.take(config, again()).await;
                    }
                },
                Some(failure) = failures.recv() => return Err(failure),
                failed = health.wait_for(|health| health.failure.is_some()) => {
                    let why = failed.ok().and_then(|health| health.failure.clone());
                    return Err(ServeError::Stopped(why.unwrap_or_default()));
                }
                () = &mut alive => {}
            }
        }
    }

    /// Finishes what was accepted; the operator's listeners tell of it to the end.
    pub(crate) async fn close(self) {
        // Receivers are there as long as anyone listens.
        self.stop.send_replace(true);
        if tokio::time::timeout(GRACE, self.api).await.is_err() {
            error!("some requests took too long to finish");
        }
        self.over.send_replace(true);
        for other in self.others {
            other.abort();
        }
    }
}

/// What serves custom resources, if that is wanted, and tells if it cannot go on.
fn serve_resources(
    config: &Config,
    broker: &Arc<Broker>,
    held: Option<Held>,
    fail: mpsc::Sender<ServeError>,
) -> Vec<JoinHandle<()>> {
    let Some(settings) = config.kubernetes() else { return Vec::new() };
    let (broker, failed) = (broker.clone(), fail.clone());
    let takes_turns = lead::takes_turns(config);
    let serving = tokio::spawn(async move {
        let Err(error) = Box::pin(lead::serve_resources(broker, settings, takes_turns)).await;
        // Nobody waits for it once the broker stops.
        drop(failed.send(error.into()).await);
    });
    let leading = tokio::spawn(async move {
        drop(fail.send(lead::lost(held).await.into()).await);
    });
    vec![serving, leading]
}

/// The pages: for anyone who is on this machine if only this machine reaches them, else for administrators.
async fn show_pages(listener: Listener<()>, broker: Arc<Broker>) {
    let at = listener.socket.local_addr();
    if at.is_ok_and(|at| at.ip().is_loopback()) {
        let pages = operations::pages_nearby(broker);
        return operations::run(listener.socket, pages, listener.stopping).await;
    }
    listener.answered_by(operations::ForAdministrators(operations::pages(broker))).run().await;
}

/// A clock that is not set is told at once: certificates would be refused without a word.
pub(crate) fn check_clock(wall: Timestamp) -> Result<(), ServeError> {
    if wall < EARLIEST { Err(ServeError::Clock(wall)) } else { Ok(()) }
}

async fn tidy(broker: Arc<Broker>) {
    loop {
        tokio::time::sleep(TIDY_EVERY).await;
        broker.tidy();
    }
}
