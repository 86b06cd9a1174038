//! Before anything is opened: of several copies on one ledger, wait for the turn of this one.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use rear_agent_sdk::daemon::leadership::{self, Held, LeaseError};
use rear_store::{FileError, Store};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::info;

use super::ServeError;
use super::doors::bind_for_operators;
use crate::config::Config;
use crate::kubernetes::connect;
use crate::ledger::{self, LedgerError};
use crate::operations;

/// Whose Lease it is.
const PROGRAM: &str = "rear-broker";

/// The copy before this one needs a moment to let go of the ledger.
const HANDOVER: Duration = Duration::from_mins(1);

/// Between two attempts to open a ledger that is in use.
const PAUSE: Duration = Duration::from_millis(250);

/// The Lease, once this copy holds it; nothing if nobody wants one.
pub(super) async fn turn(config: &Config) -> Result<Option<Held>, ServeError> {
    let settings = config.kubernetes().filter(|_| config.leader_elect);
    let Some(settings) = settings else { return Ok(None) };
    let client = connect(settings.kubeconfig.as_deref()).await?;
    let namespace = std::env::var("POD_NAMESPACE").ok().filter(|name| !name.is_empty());
    let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
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
