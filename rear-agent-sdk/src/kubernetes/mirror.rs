//! What happens in the namespace, as watches tell it: whoever waits for an object is woken when it changes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use rear_api::resources::{ClusterAdvertisement, Reservation};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::debug;

use crate::unreadable::Unreadable;

/// What is in the namespace.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) reservations: BTreeMap<String, Arc<Reservation>>,
    pub(super) advertisements: BTreeMap<String, Arc<ClusterAdvertisement>>,
}

/// The namespace, followed for as long as this lives.
pub(super) struct Mirror {
    contents: watch::Receiver<Contents>,
    following: [JoinHandle<()>; 2],
}

impl Mirror {
    /// Begins to follow. Lost watches are resumed, and listed anew where that is not possible.
    pub(super) fn start(client: &Client, namespace: &str, unreadable: &Arc<Unreadable>) -> Self {
        let (sender, contents) = watch::channel(Contents::default());
        let sender = Arc::new(sender);
        let reservations = Api::namespaced(client.clone(), namespace);
        let advertisements = Api::namespaced(client.clone(), namespace);
        let following = [
            tokio::spawn(follow(reservations, sender.clone(), unreadable.clone(), |all| {
                &mut all.reservations
            })),
            tokio::spawn(follow(advertisements, sender, unreadable.clone(), |all| {
                &mut all.advertisements
            })),
        ];
        Self { contents, following }
    }

    /// To look, and to wait for changes.
    pub(super) fn contents(&self) -> watch::Receiver<Contents> {
        self.contents.clone()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.following.iter().for_each(JoinHandle::abort);
    }
}

async fn follow<K>(
    api: Api<DeserializeGuard<K>>,
    contents: Arc<watch::Sender<Contents>>,
    unreadable: Arc<Unreadable>,
    kind: fn(&mut Contents) -> &mut BTreeMap<String, Arc<K>>,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let mut arriving = BTreeMap::new();
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => arriving.clear(),
            Ok(Event::InitApply(object)) => {
                let object = unreadable.read(object).ok();
                arriving.extend(object.map(|object| (object.name_any(), Arc::new(object))));
            }
            Ok(Event::InitDone) => {
                let all = std::mem::take(&mut arriving);
                contents.send_modify(|contents| *kind(contents) = all);
            }
            Ok(Event::Apply(object)) => {
                let Ok(object) = unreadable.read(object) else { continue };
                contents.send_modify(|contents| {
                    kind(contents).insert(object.name_any(), Arc::new(object));
                });
            }
            Ok(Event::Delete(object)) => contents.send_modify(|contents| {
                kind(contents).remove(&object.name_any());
            }),
            // It goes on by itself; whoever waits has a deadline.
            Err(error) => debug!(%error, "the namespace cannot be watched"),
        }
    }
}
