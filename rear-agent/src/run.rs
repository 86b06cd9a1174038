//! Puts the agent together: connects, finds out which cluster it is, waits for its turn, and runs all parts until one
//! ends.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use kube::{Api, Client};
use rear_agent_sdk::communicator::ClusterId;
use rear_agent_sdk::daemon::BindAddress;
use rear_agent_sdk::daemon::leadership::{self, LeaseError};
use rear_agent_sdk::kubeconfig::{ConnectError, connect};
use rear_agent_sdk::rear_engine::labels::LabelsError;
use rear_agent_sdk::{
    Agent, BrokerCommunicator, Error, HttpCommunicator, KubernetesCommunicator, Schedule,
};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::info;

use crate::cli::{Options, Transport};
use crate::collect::amounts::Tracked;
use crate::collect::collector::{ClusterCollector, Publication};
use crate::collect::sums::NodesThatCount;
use crate::collect::watch::{Collected, follow};
use crate::context::Context;
use crate::controllers::advertisement::{self, Place, Sources};
use crate::controllers::{provider_instruction, reservation_instruction, resource_request};
use crate::identity::{self, IdentityError};
use crate::liqo::{Kubeconfigs, Liqo, Settings};
use crate::metrics::Metrics;
use crate::offer::Offer;
use crate::probes;
use crate::promises::{Acceptance, Disturbance, Promises};
use crate::resources::FIELD_MANAGER;
use crate::rights::{self, RightsError};

/// Before the agent ends because of its broker, the `Advertisement` says why.
const TO_BE_SHOWN: Duration = Duration::from_secs(3);

/// Why the agent ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// The flags do not fit together.
    #[error("{0}")]
    Flags(&'static str),
    /// The labels are not ones.
    #[error("--labels")]
    Labels(#[from] LabelsError),
    /// There is no client of the API server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It is not known which cluster this is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// What is missing on the API server.
    #[error(transparent)]
    Rights(#[from] RightsError),
    /// A listener could not be started.
    #[error("{address} cannot be listened on (the flag {flag} names another place)")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The flag that says so.
        flag: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Signals cannot be received.
    #[error("signals cannot be received")]
    Signal(#[source] io::Error),
    /// Another copy is at work now, or it is not known.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The broker does not work with this agent.
    #[error("the broker does not work with this agent")]
    Broker(#[source] Error),
    /// A part ended that never does.
    #[error("{0} ended")]
    Ended(&'static str),
}

impl RunError {
    /// What a person can do about it, where the message does not say it already.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Connect(ConnectError::NoCluster(_)) => {
                Some("Set KUBECONFIG, or run the agent in a pod with a service account.")
            }
            Self::Connect(_) => Some("Check the kubeconfig, or the pod's service account."),
            Self::Identity(IdentityError::Kubernetes(_)) => Some(
                "Check that the API server runs and lets the agent read that namespace, or give --cluster-id.",
            ),
            Self::Rights(error) => Some(error.remedy()),
            Self::Listen { .. } => Some(
                "Give the flag another address or port, `0` for none, or stop what listens there.",
            ),
            Self::Lease(_) => {
                Some("It is started again by Kubernetes, and waits for its turn then.")
            }
            Self::Broker(error) => Some(error.remedy()),
            Self::Flags(_)
            | Self::Labels(_)
            | Self::Identity(_)
            | Self::Signal(_)
            | Self::Ended(_) => None,
        }
    }
}

/// Runs until a signal, or until it cannot go on.
pub async fn run(options: Options) -> Result<(), RunError> {
    let way = Way::of(&options)?;
    let offer = Offer::of(&options)?;
    let certificate = way.certificate()?;
    let client = connect(None).await?;
    let metrics = Arc::new(Metrics::default());
    let (ready, readiness) = watch::channel(false);
    let health = probes::health(readiness);
    let health = listen("--health-probe-bind-address", options.health_probe_bind_address, health);
    let health = health.await?;
    let shown = probes::metrics(metrics.clone());
    let shown = listen("--metrics-bind-address", options.metrics_bind_address, shown).await?;
    info!(?health, metrics = ?shown, "listening");
    let cluster = match identity::choose(&options.cluster_id, certificate)? {
        Some(cluster) => cluster,
        None => identity::of_kubernetes(client.clone()).await?,
    };
    info!(%cluster, "speaks for this cluster");
    let broker = way.open(&cluster).await?;
    let work = async {
        let mut lost = None;
        if options.leader_elect {
            // A copy that waits could take over at any time.
            ready.send_replace(true);
            let acquired =
                leadership::acquire(client.clone(), &options.pod_namespace, FIELD_MANAGER);
            lost = Some(acquired.await?);
            ready.send_replace(false);
        }
        metrics.leads(true);
        let parts = Parts {
            options: &options,
            client: client.clone(),
            cluster,
            broker,
            metrics: metrics.clone(),
            offer,
        };
        tokio::select! {
            ended = parts.run(ready) => ended,
            ended = leadership::lost(lost) => Err(ended.into()),
        }
    };
    tokio::select! {
        ended = work => ended,
        stopped = stop() => stopped,
    }
}

async fn listen(
    flag: &'static str,
    at: BindAddress,
    answers: Router,
) -> Result<Option<SocketAddr>, RunError> {
    let BindAddress(Some(address)) = at else { return Ok(None) };
    let started = probes::start(address, answers).await;
    started.map(Some).map_err(|source| RunError::Listen { address, flag, source })
}

/// Ends when the agent should.
async fn stop() -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signal)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    info!("stopping");
    Ok(())
}

/// How the broker is reached, if there is one.
enum Way {
    Nowhere,
    Http(Arc<HttpCommunicator>),
    Kubernetes { kubeconfig: PathBuf, namespace: String },
}

impl Way {
    fn of(options: &Options) -> Result<Self, RunError> {
        let has_kubeconfig = !options.broker_kubeconfig.is_empty();
        match options.broker_transport {
            Transport::None if !has_kubeconfig => Ok(Self::Nowhere),
            Transport::Kubernetes if !has_kubeconfig => {
                let needed = "--broker-transport=kubernetes needs --broker-kubeconfig";
                Err(RunError::Flags(needed))
            }
            // As in the earlier system, the kubeconfig alone says so too.
            Transport::None | Transport::Kubernetes => Ok(Self::Kubernetes {
                kubeconfig: PathBuf::from(&options.broker_kubeconfig),
                namespace: options.broker_namespace.clone(),
            }),
            Transport::Http
                if options.broker_url.is_empty() || options.broker_cert_path.is_empty() =>
            {
                let needed = "--broker-transport=http needs --broker-url and --broker-cert-path";
                Err(RunError::Flags(needed))
            }
            Transport::Http => {
                let folder = PathBuf::from(&options.broker_cert_path);
                let broker = HttpCommunicator::new(&options.broker_url, folder);
                broker.map(|broker| Self::Http(Arc::new(broker))).map_err(RunError::Broker)
            }
        }
    }

    /// The cluster that a certificate names, where there is one.
    fn certificate(&self) -> Result<Option<ClusterId>, RunError> {
        match self {
            Self::Http(broker) => broker.cluster().map(Some).map_err(RunError::Broker),
            Self::Nowhere | Self::Kubernetes { .. } => Ok(None),
        }
    }

    async fn open(
        self,
        cluster: &ClusterId,
    ) -> Result<Option<Arc<dyn BrokerCommunicator>>, RunError> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Http(broker) => Ok(Some(broker)),
            Self::Kubernetes { kubeconfig, namespace } => {
                let cluster = cluster.clone();
                let broker =
                    KubernetesCommunicator::connect(Some(&kubeconfig), &namespace, cluster).await;
                Ok(Some(Arc::new(broker.map_err(RunError::Broker)?)))
            }
        }
    }
}

/// What the parts are made of.
struct Parts<'a> {
    options: &'a Options,
    client: Client,
    cluster: ClusterId,
    broker: Option<Arc<dyn BrokerCommunicator>>,
    metrics: Arc<Metrics>,
    offer: Offer,
}

impl Parts<'_> {
    /// All parts, until one ends.
    async fn run(self, ready: watch::Sender<bool>) -> Result<(), RunError> {
        let Self { options, client, cluster, broker, metrics, offer } = self;
        let tracked = Tracked::with_devices(options.gpu_resources.clone());
        let that_count =
            if options.count_unready_nodes { NodesThatCount::All } else { NodesThatCount::Usable };
        let collected = Arc::new(Collected::new(tracked, that_count));
        let instructions = options.instructions().to_owned();
        let liqo = liqo(options, &client, &instructions)?;
        let context =
            Context::new(client.clone(), cluster, broker.clone(), instructions, liqo, metrics);
        let context = Arc::new(context);
        let disturbance = Arc::<Disturbance>::default();

        let (kept, providing) =
            provider_instruction::controller(context.clone(), disturbance.clone());
        let (delivered, touched, using) =
            reservation_instruction::controller(context.clone(), disturbance.clone());
        let requesting = resource_request::run(context.clone(), delivered, touched);
        let first = if broker.is_some() { Publication::NotYet } else { Publication::NoBroker };
        let (publication, publications) = watch::channel(first);
        let place = Place {
            namespace: options.advertisement_namespace.clone(),
            name: options.advertisement_name.clone(),
            every: options.advertisement_requeue_interval,
        };
        let sources = Sources {
            collected: collected.clone(),
            kept,
            cost: offer.shown(),
            publication: publications,
        };
        let advertising = advertisement::run(context.clone(), place, sources);
        let collector = ClusterCollector::new(collected.clone(), offer, publication);
        let telling = tell(options, context, collected.clone(), collector, disturbance);
        let is_ready = async {
            // The sums live as long as this does.
            let _ = collected.progress().wait_for(|progress| progress.is_complete()).await;
            ready.send_replace(true);
            std::future::pending::<()>().await;
        };
        let at_work = async {
            rights::check(&client, &options.advertisement_namespace, options.instructions())
                .await?;
            tokio::select! {
                never = advertising => match never {},
                () = providing => Err(RunError::Ended("the controller of ProviderInstructions")),
                () = using => Err(RunError::Ended("the controller of ReservationInstructions")),
                () = requesting => Err(RunError::Ended("the controller of ResourceRequests")),
                ended = telling => ended,
                () = is_ready => Err(RunError::Ended("readiness")),
            }
        };
        // To list everything takes longest: it does not wait for the answer about rights.
        tokio::select! {
            never = follow(client.clone(), collected.clone()) => match never {},
            ended = at_work => ended,
        }
    }
}

/// The agent loop, if there is a broker.
async fn tell(
    options: &Options,
    context: Arc<Context>,
    collected: Arc<Collected>,
    collector: ClusterCollector,
    disturbance: Arc<Disturbance>,
) -> Result<(), RunError> {
    let Some(broker) = context.broker.clone() else { return std::future::pending().await };
    let acceptance =
        if options.reject_when_full { Acceptance::UnlessFull } else { Acceptance::Always };
    let cluster = context.cluster.clone();
    let promises = Promises::new(context, collected, acceptance, disturbance);
    let agent = Agent::builder(cluster, broker, collector, promises)
        .schedule(Schedule::aligned(options.advertisement_requeue_interval))
        .build();
    let ended = agent.run(std::future::pending()).await;
    sleep(TO_BE_SHOWN).await;
    ended.map_err(RunError::Broker)
}

fn liqo(options: &Options, client: &Client, namespace: &str) -> Result<Option<Liqo>, RunError> {
    let kubeconfigs = match &options.liqo_kubeconfig_dir {
        Some(folder) => Kubeconfigs::Folder(folder.clone()),
        None if options.liqo_kubeconfig_secrets => {
            Kubeconfigs::Secrets(Box::new(Api::namespaced(client.clone(), namespace)))
        }
        None => return Ok(None),
    };
    let of_environment = || env::var_os("KUBECONFIG").map(PathBuf::from);
    let local = options.liqo_local_kubeconfig.clone().or_else(of_environment);
    let needed = "peering needs this cluster's kubeconfig: --liqo-local-kubeconfig or KUBECONFIG";
    Ok(Some(Liqo::new(Settings {
        program: options.liqoctl.clone(),
        local: local.ok_or(RunError::Flags(needed))?,
        kubeconfigs,
        limit: options.liqo_timeout,
        gateway_service: options.liqo_gw_server_service_type.clone(),
        gpu: options.gpu_resources.first().cloned().unwrap_or_else(|| "nvidia.com/gpu".to_owned()),
    })))
}
