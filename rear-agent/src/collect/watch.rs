//! Follows nodes and pods: one list at the start and after a gap, then each change as it happens.

use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, InitialListStrategy, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use rear_agent_sdk::Chain;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::amounts::Tracked;
use super::node::NodeView;
use super::pod::PodView;
use super::sums::{NodesThatCount, Sums, TooLarge, Totals};

/// Objects of a list are read in pages of this many, so that a large cluster does not have to fit into memory at once.
const PAGE: u32 = 100;

/// Pods that wait or have finished do not concern the sums: the API server leaves them out.
const BOUND_AND_UNFINISHED: &str = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";

/// The sums, and whether they are complete.
pub struct Collected {
    tracked: Tracked,
    sums: Mutex<Sums>,
    progress: watch::Sender<Progress>,
}

/// How far the collection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    nodes_are_listed: bool,
    pods_are_listed: bool,
    /// Grows with every change of the sums.
    changes: u64,
}

impl Progress {
    /// Whether both have been listed once: before that, sums are not those of the cluster.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.nodes_are_listed && self.pods_are_listed
    }
}

impl Collected {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(tracked: Tracked, that_count: NodesThatCount) -> Self {
        let progress = watch::Sender::default();
        Self { tracked, sums: Mutex::new(Sums::new(that_count)), progress }
    }

    /// To wait for the first list, and for changes.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The sums of this moment.
    pub fn totals(&self) -> Result<Totals, TooLarge> {
        self.sums().totals()
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_node(&self, event: Event<NodeView>) {
        let news = match event {
            Event::Init => {
                self.sums().listing_nodes();
                return;
            }
            Event::InitDone => {
                self.sums().nodes_are_listed();
                self.progress.send_modify(|progress| progress.nodes_are_listed = true);
                true
            }
            Event::Apply(node) | Event::InitApply(node) => self.node_is(&node),
            Event::Delete(node) => {
                self.sums().node_is_gone(&node.name_any());
                true
            }
        };
        self.tell_if(news);
    }

    fn take_pod(&self, event: Event<PodView>) {
        let news = match event {
            Event::Init => {
                self.sums().listing_pods();
                return;
            }
            Event::InitDone => {
                self.sums().pods_are_listed();
                self.progress.send_modify(|progress| progress.pods_are_listed = true);
                true
            }
            Event::Apply(pod) | Event::InitApply(pod) => self.pod_is(&pod),
            Event::Delete(pod) => self.sums().pod_is_gone(id(&pod)),
        };
        self.tell_if(news);
    }

    fn node_is(&self, node: &NodeView) -> bool {
        match node.facts(&self.tracked) {
            Ok(facts) => self.sums().node_is(&node.name_any(), facts),
            Err(error) => {
                warn!(node = node.name_any(), error = %Chain(&error), "the node is left out");
                self.sums().node_is_gone(&node.name_any());
                true
            }
        }
    }

    fn pod_is(&self, pod: &PodView) -> bool {
        let facts = pod.facts(&self.tracked).unwrap_or_else(|error| {
            warn!(pod = pod.name_any(), error = %Chain(&error), "the pod is left out");
            None
        });
        self.sums().pod_is(id(pod), facts)
    }

    fn tell_if(&self, news: bool) {
        if news {
            self.progress.send_modify(|progress| progress.changes += 1);
        }
    }
}

/// A name can be used again at once; an id never is.
fn id(pod: &PodView) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// Follows both for ever.
pub async fn follow(client: Client, collected: Arc<Collected>) -> Infallible {
    let nodes = each(Api::all(client.clone()), streamed(), |event| collected.take_node(event));
    let pods = streamed().fields(BOUND_AND_UNFINISHED);
    let pods = each(Api::all(client), pods, |event| collected.take_pod(event));
    tokio::select! {
        never = nodes => never,
        never = pods => never,
    }
}

/// The list comes as a stream, one object after the other: nothing of it is in memory twice.
fn streamed() -> watcher::Config {
    watcher::Config::default().streaming_lists()
}

/// API servers before 1.32 may have no such streams: then the list comes in pages.
fn in_pages(config: &watcher::Config) -> watcher::Config {
    let initial_list_strategy = InitialListStrategy::ListWatch;
    watcher::Config { initial_list_strategy, ..config.clone() }.page_size(PAGE)
}

async fn each<K>(
    api: Api<K>,
    mut config: watcher::Config,
    mut take: impl FnMut(Event<K>),
) -> Infallible
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut is_listed = false;
    loop {
        let mut events = pin!(watcher(api.clone(), config.clone()).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    is_listed |= matches!(event, Event::InitDone);
                    take(event);
                }
                Err(error) if !is_listed && is_refused(&error) => {
                    info!(error = %Chain(&error), "lists are read in pages");
                    config = in_pages(&config);
                    break;
                }
                // The watcher goes on by itself, after a pause.
                Err(error) => warn!(error = %Chain(&error), "watching was interrupted"),
            }
        }
        debug!("a watch ended and begins anew");
    }
}

/// Whether the API server understood the question and does not do that.
fn is_refused(error: &watcher::Error) -> bool {
    let (watcher::Error::WatchStartFailed(kube::Error::Api(status))
    | watcher::Error::WatchError(status)) = error
    else {
        return false;
    };
    matches!(status.code, 400 | 405 | 422)
}
