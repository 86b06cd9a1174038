//! Peering with other clusters by Liqo's own program, `liqoctl`: arguments only, checked input, bounded time and output.

mod arguments;
mod kubeconfig;
mod process;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use rear_agent_sdk::Resources;
use thiserror::Error;
use tokio::sync::OwnedMutexGuard;
use tracing::info;

pub use kubeconfig::{KubeconfigError, checked};
pub use process::ProcessError;

/// Where the kubeconfigs of other clusters are.
pub enum Kubeconfigs {
    /// `CLUSTER.kubeconfig` in a folder.
    Folder(PathBuf),
    /// Secrets `CLUSTER-kubeconfig`, with the key `kubeconfig`.
    Secrets(Box<Api<Secret>>),
}

/// How to peer.
pub struct Settings {
    /// The program.
    pub program: PathBuf,
    /// This cluster's own kubeconfig.
    pub local: PathBuf,
    /// The others'.
    pub kubeconfigs: Kubeconfigs,
    /// How long one run may take.
    pub limit: Duration,
    /// How the gateway of the other side is reached.
    pub gateway_service: String,
    /// The resource that a GPU is on the other side.
    pub gpu: String,
}

/// Peers with other clusters.
pub struct Liqo {
    settings: Settings,
    /// One run for each cluster at a time.
    running: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// Why there is no peering.
#[derive(Debug, Error)]
pub enum PeeringError {
    /// An id that Liqo does not take: it would become a part of names.
    #[error("`{0}` is not an id that Liqo takes: lower case letters, digits and `-`")]
    Id(String),
    /// The kubeconfig of the other cluster cannot be used.
    #[error("the kubeconfig of {cluster} cannot be used")]
    Kubeconfig {
        /// Of which cluster.
        cluster: String,
        /// Why.
        source: KubeconfigError,
    },
    /// The program did not do it.
    #[error("liqoctl did not do it")]
    Process(#[from] ProcessError),
}

impl Liqo {
    /// With these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, running: Mutex::default() }
    }

    /// Peers with a cluster, for as much as `whole` says when it is this run's turn: nothing is done if that is nothing. Returns
    /// the last words of the program.
    pub async fn peer(
        &self,
        cluster: &str,
        whole: impl AsyncFnOnce() -> Option<Resources>,
    ) -> Result<Option<String>, PeeringError> {
        let _turn = self.turn(cluster).await?;
        match whole().await {
            Some(whole) => self.ask_for(cluster, whole).await.map(Some),
            None => Ok(None),
        }
    }

    /// The same for less than before: the peering ends if nothing is left.
    pub async fn shrink(
        &self,
        cluster: &str,
        whole: impl AsyncFnOnce() -> Option<Resources>,
    ) -> Result<String, PeeringError> {
        // Whoever comes meanwhile peers after that: what it needs is not undone.
        let _turn = self.turn(cluster).await?;
        match whole().await {
            Some(whole) => self.ask_for(cluster, whole).await,
            None => self.unpeer(cluster).await,
        }
    }

    async fn ask_for(&self, cluster: &str, whole: Resources) -> Result<String, PeeringError> {
        let remote = self.remote(cluster).await?;
        let settings = &self.settings;
        let arguments = arguments::peer(settings, remote.path(), whole);
        info!(cluster, ?arguments, "peering");
        Ok(process::run(&settings.program, &arguments, settings.limit).await?)
    }

    async fn unpeer(&self, cluster: &str) -> Result<String, PeeringError> {
        let remote = self.remote(cluster).await?;
        let settings = &self.settings;
        let arguments = arguments::unpeer(settings, remote.path());
        info!(cluster, ?arguments, "unpeering");
        Ok(process::run(&settings.program, &arguments, settings.limit).await?)
    }

    /// To be kept while a program runs.
    async fn turn(&self, cluster: &str) -> Result<OwnedMutexGuard<()>, PeeringError> {
        arguments::check(cluster)?;
        let turn = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.entry(cluster.to_owned()).or_default().clone()
        };
        Ok(turn.lock_owned().await)
    }

    /// A checked copy that only this agent can read and nobody can change meanwhile.
    async fn remote(&self, cluster: &str) -> Result<tempfile::NamedTempFile, PeeringError> {
        let of_cluster = |source| PeeringError::Kubeconfig { cluster: cluster.to_owned(), source };
        kubeconfig::fetch(&self.settings.kubeconfigs, cluster).await.map_err(of_cluster)
    }
}
