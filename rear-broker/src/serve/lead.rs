//! Of several copies on one ledger, wait for the turn of this one: before anything is opened if the ledger is a file, and
//! to work on the resources if several brokers share it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use kube::Client;
use rear_agent_sdk::daemon::leadership::{self, Held, LeaseError};
use rear_agent_sdk::kubeconfig::connect;
use rear_store::{FileError, Store};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::ServeError;
use super::doors::bind_for_operators;
use crate::broker::Broker;
use crate::config::{Config, StoreKind};
use crate::kubernetes::{self, KubernetesError};
use crate::ledger::{self, LedgerError};
use crate::operations;

/// Whose Lease it is.
const PROGRAM: &str = "rear-broker";

/// The copy before this one needs a moment to let go of the ledger.
const HANDOVER: Duration = Duration::from_mins(1);

/// After the API server could not be asked for the Lease.
const PAUSE_WITHOUT_LEASE: Duration = Duration::from_secs(2);

/// Between two attempts to open a ledger that is in use.
const PAUSE: Duration = Duration::from_millis(250);

/// The Lease, once this copy holds it; nothing if nobody wants one, or other copies can use the ledger meanwhile.
pub(super) async fn turn(config: &Config) -> Result<Option<Held>, ServeError> {
    let settings = config.kubernetes().filter(|_| config.leader_elect && !is_shared(config));
    let Some(settings) = settings else { return Ok(None) };
    let client = connect(settings.kubeconfig.as_deref()).await.map_err(KubernetesError::from)?;
    let namespace = namespace_of(&client);
    let (over, is_over) = watch::channel(false);
    let address = config.health_probe_bind_address;
    let door = bind_for_operators("health-probe-bind-address", address).await?;
    let waiting = door.map(|door| tokio::spawn(operations::run(door, probes(), is_over)));
    let held = leadership::acquire(client, &namespace, PROGRAM).await?;
    over.send_replace(true);
    if let Some(waiting) = waiting {
        // A panic of it leaves the port free, which is all that matters.
        drop(waiting.await);
    }
    Ok(Some(held))
}

fn is_shared(config: &Config) -> bool {
    config.store == StoreKind::Etcd
}

/// Where the Lease is.
fn namespace_of(client: &Client) -> String {
    let namespace = std::env::var("POD_NAMESPACE").ok().filter(|name| !name.is_empty());
    namespace.unwrap_or_else(|| client.default_namespace().to_owned())
}

/// Serves custom resources until it cannot go on. Of brokers that share a ledger, the one that holds the Lease does; one
/// that loses it goes on with everything else, and waits for its next turn.
pub(super) async fn serve_resources(
    broker: Arc<Broker>,
    settings: kubernetes::Settings,
    takes_turns: bool,
) -> Result<Infallible, KubernetesError> {
    loop {
        let client = connect(settings.kubeconfig.as_deref()).await?;
        let serving = kubernetes::serve(client.clone(), broker.clone(), settings.clone());
        let mut serving = Box::pin(serving);
        if !takes_turns {
            return serving.await;
        }
        let namespace = namespace_of(&client);
        let held = match leadership::acquire(client, &namespace, PROGRAM).await {
            Ok(held) => held,
            Err(error) => {
                warn!(?error, "no turn can be waited for yet");
                sleep(PAUSE_WITHOUT_LEASE).await;
                continue;
            }
        };
        tokio::select! {
            ended = &mut serving => return ended,
            lost = leadership::lost(Some(held)) => warn!(%lost, "another broker works on the resources"),
        }
    }
}

/// Whether brokers take turns with the resources, and with nothing else.
pub(super) fn takes_turns(config: &Config) -> bool {
    config.leader_elect && is_shared(config)
}

/// A copy that waits lives, and is not ready.
fn probes() -> Router {
    let waits = (StatusCode::SERVICE_UNAVAILABLE, "another copy holds the Lease");
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(move || async move { waits }))
}

/// Opens the ledger, as soon as the copy before this one has let go of it.
pub(super) async fn open_in_turn(config: &Config, held: bool) -> Result<Store, ServeError> {
    let deadline = Instant::now() + HANDOVER;
    loop {
        let settled = config.clone();
        // Reading a large ledger, or waiting for etcd, holds up nobody else.
        let opened = tokio::task::spawn_blocking(move || ledger::open(&settled)).await;
        match opened.map_err(|_| ServeError::NotOpened)? {
            Err(LedgerError::File(FileError::InUse(_))) if held && Instant::now() < deadline => {
                info!("the ledger is still in use by the copy before this one");
                sleep(PAUSE).await;
            }
            opened => return Ok(opened?),
        }
    }
}

/// Ends when the Lease is lost: another copy may be at work. Never without one.
pub(super) async fn lost(held: Option<Held>) -> LeaseError {
    leadership::lost(held).await
}
