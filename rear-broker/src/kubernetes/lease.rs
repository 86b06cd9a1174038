//! Leader election: of several copies on one ledger, the one that holds the Lease opens it.

use kube::Client;
use kube_lease_manager::{LeaseManagerBuilder, LeaseManagerError};
use thiserror::Error;
use tokio::sync::watch;
use tracing::info;

/// The name of the Lease.
const NAME: &str = "rear-broker-leader";

/// How long a copy that has died still holds the Lease, in seconds.
const DURATION: u64 = 15;

/// How long before its end a living copy renews it, in seconds.
const GRACE: u64 = 5;

/// The name under which the Lease is written.
const MANAGER: &str = "rear-broker-lease";

/// Why this copy does not work.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// The Lease cannot be used.
    #[error("the Lease cannot be used")]
    Unusable(#[source] LeaseManagerError),
    /// Another copy may be at work.
    #[error("the Lease was lost to another copy")]
    Lost,
}

/// Whether this copy holds the Lease.
pub type Held = watch::Receiver<bool>;

/// Waits until this copy holds the Lease.
pub async fn acquire(client: Client, namespace: &str) -> Result<Held, LeaseError> {
    let manager = LeaseManagerBuilder::new(client, NAME)
        .with_namespace(namespace)
        .with_duration(DURATION)
        .with_grace(GRACE)
        .with_field_manager(MANAGER)
        .build()
        .await
        .map_err(LeaseError::Unusable)?;
    let (mut held, _renewing) = manager.watch().await;
    info!(lease = NAME, namespace, "waiting for the Lease");
    held.wait_for(|held| *held).await.map_err(|_| LeaseError::Lost)?;
    info!(lease = NAME, "this copy works");
    Ok(held)
}

/// Ends when the Lease is lost; never without one.
pub async fn lost(held: Option<Held>) -> LeaseError {
    let Some(mut held) = held else { return std::future::pending().await };
    // An error says the same: nobody renews it any more.
    let _ = held.wait_for(|held| !*held).await;
    LeaseError::Lost
}
