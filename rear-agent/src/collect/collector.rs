//! The sums as the agent loop wants them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rear_agent_sdk::{Chain, Doing, Error, ResourceCollector, Snapshot};
use tokio::sync::{Mutex, watch};

use super::sums::Totals;
use super::watch::{Collected, Progress};
use crate::offer::Offer;

/// How it stands with the broker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Publication {
    /// There is no broker to tell.
    #[default]
    NoBroker,
    /// The broker has not been told yet.
    NotYet,
    /// The broker has been told.
    Done,
    /// The broker could not be told.
    Failed(String),
}

/// Shows the sums to the agent loop, and tells others how publishing goes.
pub struct ClusterCollector {
    collected: Arc<Collected>,
    offer: Offer,
    /// Changes that the loop has not looked at.
    progress: Mutex<watch::Receiver<Progress>>,
    publication: watch::Sender<Publication>,
}

impl ClusterCollector {
    /// For the sums, and what the operator says beside them; the outcome of publishing is sent on.
    #[must_use]
    pub fn new(
        collected: Arc<Collected>,
        offer: Offer,
        publication: watch::Sender<Publication>,
    ) -> Self {
        let progress = Mutex::new(collected.progress());
        Self { collected, offer, progress, publication }
    }

    async fn snapshot(&self) -> Result<Snapshot, rear_agent_sdk::Source> {
        self.collected.progress().wait_for(|progress| progress.is_complete()).await?;
        let Totals { capacity, allocatable, allocated, consumed, .. } = self.collected.totals()?;
        let Offer { cost, labels } = self.offer.clone();
        let endpoint = None;
        Ok(Snapshot { capacity, allocatable, allocated, consumed, cost, labels, endpoint })
    }
}

impl ResourceCollector for ClusterCollector {
    fn collect(&self) -> Doing<'_, Snapshot> {
        Box::pin(self.snapshot())
    }

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut progress = self.progress.lock().await;
            if progress.changed().await.is_err() {
                // The sums have ended, as the program does.
                std::future::pending::<()>().await;
            }
        })
    }

    fn told(&self, outcome: Result<(), &Error>) {
        let new = match outcome {
            Ok(()) => Publication::Done,
            Err(error) => Publication::Failed(format!("{} {}", Chain(error), error.remedy())),
        };
        self.publication.send_if_modified(|known| {
            let changed = *known != new;
            *known = new;
            changed
        });
    }
}
