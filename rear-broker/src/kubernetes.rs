//! The Kubernetes interface: agents and users write custom resources on a broker cluster, the broker answers in them.
//!
//! `follow` mirrors what the API server has; whatever changes there or in the ledger is put on the `queue`; `work` looks
//! at it: observes, decides (pure), applies. What is wanted goes through the same store and engine as the
//! HTTP API. The ledger is the truth: what stands in the objects is a view of it, which is repaired whoever changed it.
//! Whose words count where is for `speakers` to say, and whether this ledger may serve these objects for `claim`.

mod advertisement;
mod claim;
mod desk;
mod follow;
mod presence;
mod queue;
mod reservation;
mod shelf;
mod speakers;
pub mod steps;
mod work;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use rear_agent_sdk::kubeconfig::ConnectError;
use rear_store::{JournalError, SubmitError};
use thiserror::Error;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::broker::Broker;
use crate::freshness::catch_up;
use claim::{Found, judge};
use desk::Desk;
use reservation::was_made_as_resource;

pub use claim::{ClaimError, Replaces};

/// The name under which the broker writes its fields.
const MANAGER: &str = "rear-broker";

/// After the API server could not be asked at the start.
const PAUSE: Duration = Duration::from_secs(2);

/// How the interface is served.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The broker cluster's kubeconfig; without it, `KUBECONFIG` or the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// A namespace in which everyone is believed to be who they say they are.
    pub shared_namespace: Option<String>,
    /// Which other ledgers may be replaced.
    pub replaces: Replaces,
}

/// Why the interface cannot be served.
#[derive(Debug, Error)]
pub enum KubernetesError {
    /// There is no client of the API server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// These objects are not this ledger's.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Which ledger this is cannot be read.
    #[error("the ledger cannot be read")]
    Ledger(#[from] JournalError),
}

/// Why something is looked at again later.
#[derive(Debug, Error)]
enum TryAgain {
    #[error("the API server did not do it: {0}")]
    Kubernetes(#[from] kube::Error),
    #[error("{0}")]
    Store(SubmitError),
    #[error("an object cannot be written: {0}")]
    Unwritable(serde_json::Error),
    #[error("the ledger is ahead of what is shown here: {0}")]
    Behind(String),
    #[error("it did not come to rest")]
    Unsettled,
}

/// Serves the interface until it cannot be.
pub async fn serve(
    client: Client,
    broker: Arc<Broker>,
    settings: Settings,
) -> Result<Infallible, KubernetesError> {
    let ledger = broker.store.reader().meta()?.ledger;
    if let Some(namespace) = &settings.shared_namespace {
        warn!(namespace, "whoever may write in this namespace speaks for every cluster");
    }
    let seen = broker.store.view().position().into();
    let desk = Arc::new(Desk::new(client.clone(), broker, ledger, settings.shared_namespace));
    let listed = Arc::new(Notify::new());
    let following = follow::follow(desk.clone(), client, listed.clone());
    let working = async {
        while !desk.mirror().is_complete() {
            listed.notified().await;
        }
        // Whoever led before may have written what is not shown here yet.
        while let Err(why) = catch_up(&desk.broker.store).await {
            warn!(why, "the end of the ledger is not known");
            tokio::time::sleep(PAUSE).await;
        }
        claim(&desk, settings.replaces).await?;
        info!("the Kubernetes interface is served");
        desk.hear_clusters().await;
        desk.touch_everything();
        tokio::join!(desk.clone().work(seen), presence::keep(desk.clone()));
        Ok(std::future::pending().await)
    };
    tokio::select! {
        never = following => match never {},
        ended = working => ended,
    }
}

/// Whether the objects are this ledger's.
async fn claim(desk: &Desk, replaces: Replaces) -> Result<(), ClaimError> {
    let leases = loop {
        match presence::found(desk).await {
            Ok(found) => break found,
            Err(error) => warn!(%error, "the API server cannot be asked"),
        }
        tokio::time::sleep(PAUSE).await;
    };
    let mirror = desk.mirror();
    let mark = |place: &shelf::Place, kind: &str, text: Option<&str>| {
        let place = format!("the {kind} {}/{}", place.namespace, place.name);
        text.and_then(|text| text.parse().ok()).map(|mark| Found { place, mark })
    };
    let reservations = mirror.reservations.all().filter_map(|(place, object)| {
        mark(place, "Reservation", object.status.as_ref()?.ledger.as_deref())
    });
    let advertisements = mirror.advertisements.all().filter_map(|(place, object)| {
        mark(place, "ClusterAdvertisement", object.status.as_ref()?.ledger.as_deref())
    });
    let found: Vec<_> = leases.into_iter().chain(reservations).chain(advertisements).collect();
    let view = desk.broker.store.view();
    let made = view.fleet().reservations();
    let made = made.filter(|kept| kept.phase.is_live() && was_made_as_resource(kept)).count();
    judge(&found, desk.mark(&view), made, replaces)
}
