//! The transport over Kubernetes: custom resources on a broker cluster, which a broker with the Kubernetes interface
//! answers.
//!
//! A cluster speaks in a namespace that the broker's operator has bound to it (or in a shared one): it publishes its
//! `ClusterAdvertisement`, asks by creating a `Reservation`, and is told in the status of these and of the copies that the
//! broker keeps there. A reservation is known by its id in the ledger; one that a user has made as an object, to its
//! requester by the name that it was given.
//!
//! ```no_run
//! use rear_agent_sdk::communicator::BrokerCommunicator;
//! use rear_agent_sdk::{Intent, KubernetesCommunicator, request};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let kubeconfig = Some("/etc/rear/broker.kubeconfig".as_ref());
//! let broker = KubernetesCommunicator::connect(kubeconfig, "rome", "rome".parse()?).await?;
//! let reservation = broker.reserve(&request("2", "4Gi"), &Intent::new()).await?;
//! println!("{}", reservation.status.message);
//! # Ok(())
//! # }
//! ```

mod events;
mod failure;
mod mirror;
mod names;
mod operations;
mod presence;
mod sides;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::core::{DeserializeGuard, ObjectMeta};
use kube::{Api, Client};
use rear_api::reservation::Reservation as Body;
use rear_api::resources::{ClusterAdvertisement, Reservation};
use tokio::sync::{OnceCell, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    ClusterId, DryRun, EventId, EventStream, Intent, Level, Position, ReservationRequest, Role,
    Timestamp, Wait,
};
use crate::error::Error;
use crate::kubeconfig;
use crate::unreadable::Unreadable;
use mirror::{Contents, Mirror};
use presence::{Presence, Renewals};

/// How long an answer may take: as long as over HTTP.
const DEADLINE: Duration = Duration::from_secs(30);

/// The name under which this transport writes its fields.
const MANAGER: &str = "rear-agent-sdk";

/// Speaks to a broker through custom resources.
pub struct KubernetesCommunicator {
    client: Client,
    namespace: String,
    cluster: ClusterId,
    presence: OnceCell<Presence>,
    renewals: Renewals,
    mirror: OnceCell<Mirror>,
    closed: watch::Sender<bool>,
    /// The last level of each side that was answered.
    served: Mutex<BTreeMap<&'static str, (Position, Vec<Body>)>>,
    unreadable: Arc<Unreadable>,
}

impl KubernetesCommunicator {
    /// Speaks for a cluster in a namespace of the broker cluster: with this kubeconfig, else with `KUBECONFIG`, else with
    /// the service account of the pod. A kubeconfig that is replaced counts from then on.
    pub async fn connect(
        kubeconfig: Option<&Path>,
        namespace: &str,
        cluster: ClusterId,
    ) -> Result<Self, Error> {
        let client = kubeconfig::connect(kubeconfig).await.map_err(failure::of_connecting)?;
        Ok(Self {
            client,
            namespace: namespace.to_owned(),
            cluster,
            presence: OnceCell::new(),
            renewals: Renewals::default(),
            mirror: OnceCell::new(),
            closed: watch::Sender::new(false),
            served: Mutex::default(),
            unreadable: Arc::default(),
        })
    }

    fn reservations_api(&self) -> Api<Reservation> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// All reservations in the namespace at this moment, and of those that cannot be read what every object has.
    async fn all_reservations(&self) -> Result<(Vec<Reservation>, Vec<ObjectMeta>), Error> {
        let api: Api<DeserializeGuard<Reservation>> =
            Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&kube::api::ListParams::default()).await.map_err(failure::of_kube)?;
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        for object in listed.items {
            match self.unreadable.read(object) {
                Ok(object) => read.push(object),
                Err(meta) => unread.push(*meta),
            }
        }
        Ok((read, unread))
    }

    fn advertisements_api(&self) -> Api<ClusterAdvertisement> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The broker of this namespace; looked for once. How far its ledger is may have changed since.
    async fn presence(&self) -> Result<&Presence, Error> {
        self.presence.get_or_try_init(|| self.present()).await
    }

    /// The broker of this namespace, as it is now: its ledger may have been restored.
    async fn present(&self) -> Result<Presence, Error> {
        Presence::find(&self.client, &self.namespace, &self.cluster).await
    }

    async fn contents(&self) -> watch::Receiver<Contents> {
        let start = || async { Mirror::start(&self.client, &self.namespace, &self.unreadable) };
        self.mirror.get_or_init(start).await.contents()
    }

    /// Ends with an answer, after the deadline, or when the communicator is closed.
    fn answering<'a, T: Send + 'a>(
        &'a self,
        within: Duration,
        doing: impl Future<Output = Result<T, Error>> + Send + 'a,
    ) -> Answering<'a, T> {
        Box::pin(async move {
            let mut closed = self.closed.subscribe();
            tokio::select! {
                biased;
                () = is_closed(&mut closed) => Err(Error::Closed),
                outcome = timeout(within, doing) => match outcome {
                    Ok(outcome) => outcome,
                    Err(_) => Err(self.silence(within).await),
                }
            }
        })
    }

    /// Why nobody answered, as far as can be said.
    async fn silence(&self, waited: Duration) -> Error {
        match timeout(DEADLINE, self.present()).await {
            Ok(Err(error)) => error,
            Ok(Ok(presence)) if self.renewals.is_silent(&presence) => self.not_renewed(),
            _ => Error::TimedOut { seconds: waited.as_secs() },
        }
    }

    fn not_renewed(&self) -> Error {
        let detail = format!("its Lease in the namespace {} is not renewed", self.namespace);
        Error::Unavailable { status: 503, detail, retry_after: None }
    }

    /// Waits until something is so in the namespace.
    async fn until<T>(&self, mut seen: impl FnMut(&Contents) -> Option<T>) -> Result<T, Error> {
        let mut contents = self.contents().await;
        loop {
            if let Some(found) = seen(&contents.borrow_and_update()) {
                return Ok(found);
            }
            contents.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    /// All promises of a side, as the API server has them at this moment.
    async fn level(&self, role: Role) -> Result<Level, Error> {
        let presence = self.present().await?;
        let namespace = presence.namespace;
        let (all, unread) = self.all_reservations().await?;
        let marks = all.iter().filter_map(operations::mark_of);
        let newest = marks.chain([presence.position]).max().unwrap_or(presence.position);
        let concerned =
            all.iter().filter(|object| sides::concerns(object, &self.cluster, role, namespace));
        let shown = concerned.filter_map(|object| sides::shown(object, &self.cluster, role));
        let mut instructions: Vec<Body> = shown.filter_map(sides::instruction).collect();
        instructions.sort_by(|one, other| one.id.cmp(&other.id));
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let before = served.get(role.name()).map(|(position, _)| *position);
        let position = before.map_or(newest, |before| {
            if before.incarnation == newest.incarnation { before.max(newest) } else { newest }
        });
        served.insert(role.name(), (position, instructions.clone()));
        let unread = unread.iter().flat_map(sides::ids_of).collect();
        Ok(Level::new(instructions, Some(position)).without_word_on(unread))
    }

    /// The same, once it is another one than the caller knows, or the time is over.
    async fn news(&self, role: Role, wait: Wait) -> Result<Level, Error> {
        let deadline = Instant::now() + wait.at_most;
        let mut contents = self.contents().await;
        loop {
            contents.mark_unchanged();
            let known = {
                let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
                served.get(role.name()).cloned()
            };
            let level = self.level(role).await?;
            let is_known = known.is_some_and(|(position, instructions)| {
                let same_life =
                    level.revision.map(|now| now.incarnation) == Some(position.incarnation);
                position == wait.after && same_life && instructions == level.instructions
            });
            if !is_known {
                return Ok(level);
            }
            match timeout_at(deadline, contents.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::Closed),
                Err(_) => return Ok(level),
            }
        }
    }
}

/// Ends when the communicator is closed, or gone.
async fn is_closed(closed: &mut watch::Receiver<bool>) {
    drop(closed.wait_for(|closed| *closed).await);
}

impl BrokerCommunicator for KubernetesCommunicator {
    fn ping(&self) -> Answering<'_, ()> {
        self.answering(DEADLINE, async {
            let found = self.present().await?;
            if self.renewals.is_silent(&found) { Err(self.not_renewed()) } else { Ok(()) }
        })
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        self.answering(DEADLINE, self.tell(advertisement))
    }

    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        self.answering(DEADLINE, async {
            self.presence().await?;
            let name = rear_api::resources::names::advertisement_name(cluster.as_str());
            let found = self.advertisements_api().get_opt(&name).await.map_err(failure::of_kube)?;
            Ok(found.and_then(|object| object.shown()))
        })
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Body> {
        self.answering(DEADLINE, self.ask(request, intent))
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        self.answering(DEADLINE, self.have_explained(request))
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Body>> {
        self.answering(DEADLINE, self.list(role))
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Body> {
        self.answering(DEADLINE, async {
            let (object, role) = self.find(id).await?;
            sides::shown(&object, &self.cluster, role).ok_or_else(|| operations::unknown(id))
        })
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Body> {
        self.answering(DEADLINE, self.confirm(id))
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Body> {
        self.answering(DEADLINE, self.prolong(id, until))
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Body> {
        self.answering(DEADLINE, self.refuse(id, reason))
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Body> {
        self.answering(DEADLINE, self.give_back(id))
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        match wait {
            None => self.answering(DEADLINE, self.level(role)),
            Some(wait) => self.answering(DEADLINE + wait.at_most, self.news(role, wait)),
        }
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        self.answering(DEADLINE, events::open(self, after))
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }
}
