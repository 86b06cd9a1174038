//! Leader election on Kubernetes: of several copies of a program, the one that holds the Lease works.

use kube::Client;
use kube_lease_manager::{LeaseManagerBuilder, LeaseManagerError};
use thiserror::Error;
use tokio::sync::watch;
use tracing::info;

/// How long a copy that has died still holds the Lease, in seconds.
const DURATION: u64 = 15;

/// How long before its end a living copy renews it, in seconds.
const GRACE: u64 = 5;

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

/// Waits until this copy holds the Lease `PROGRAM-leader`, which it writes as `PROGRAM-lease`.
pub async fn acquire(client: Client, namespace: &str, program: &str) -> Result<Held, LeaseError> {
    let name = format!("{program}-leader");
    let manager = LeaseManagerBuilder::new(client, &name)
        .with_namespace(namespace)
        .with_duration(DURATION)
        .with_grace(GRACE)
        .with_field_manager(format!("{program}-lease"))
        .build()
        .await
        .map_err(LeaseError::Unusable)?;
    let (mut held, _renewing) = manager.watch().await;
    info!(lease = name, namespace, "waiting for the Lease");
    held.wait_for(|held| *held).await.map_err(|_| LeaseError::Lost)?;
    info!(lease = name, "this copy works");
    Ok(held)
}

/// Ends when the Lease is lost; never without one.
pub async fn lost(held: Option<Held>) -> LeaseError {
    let Some(mut held) = held else { return std::future::pending().await };
    // An error says the same: nobody renews it any more.
    let _ = held.wait_for(|held| !*held).await;
    LeaseError::Lost
}
