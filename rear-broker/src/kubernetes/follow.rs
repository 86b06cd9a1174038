//! Follows the API server: one list at the start and after a gap, then each change as it happens.

use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use rear_api::resources::names::CLUSTER_LABEL;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tracing::warn;

use super::desk::Desk;
use super::queue::Key;

/// Follows all three kinds for ever. `listed` is told whenever a list is complete.
pub(super) async fn follow(desk: Arc<Desk>, client: Client, listed: Arc<Notify>) -> Infallible {
    let plain = watcher::Config::default;
    let namespaces = each(Api::all(client.clone()), plain(), &listed, |event| {
        take_namespace(&desk, event);
    });
    let advertisements = each(Api::all(client.clone()), plain(), &listed, |event| {
        let touched = desk.mirror().advertisements.take(event);
        desk.touch(touched.into_iter().map(Key::Cluster));
    });
    let reservations = each(Api::all(client), plain(), &listed, |event| {
        let touched = desk.mirror().reservations.take(event);
        desk.touch(touched.into_iter().map(Key::Reservation));
    });
    tokio::select! {
        never = namespaces => never,
        never = advertisements => never,
        never = reservations => never,
    }
}

/// A binding that changes concerns everything that is shown in the namespace, and elsewhere of its cluster.
fn take_namespace(desk: &Desk, event: Event<DeserializeGuard<Namespace>>) {
    let is_bound = {
        let mut mirror = desk.mirror();
        let touched = mirror.namespaces.take(event);
        let mut is_changed = false;
        for name in touched {
            let known = mirror.namespaces.at(&name).pop();
            let label = known.and_then(|(_, namespace)| label_of(&namespace));
            let before = mirror.speakers.of(&name);
            mirror.speakers.bind(&name, label.as_deref());
            is_changed |= before != mirror.speakers.of(&name);
        }
        is_changed && mirror.is_complete()
    };
    if is_bound {
        desk.touch_everything();
    }
}

/// The cluster that an operator has bound a namespace to. One that is being deleted takes nothing new.
fn label_of(namespace: &Namespace) -> Option<String> {
    let is_deleted = namespace.metadata.deletion_timestamp.is_some();
    namespace.labels().get(CLUSTER_LABEL).filter(|_| !is_deleted).cloned()
}

async fn each<K>(
    api: Api<DeserializeGuard<K>>,
    config: watcher::Config,
    listed: &Notify,
    mut take: impl FnMut(Event<DeserializeGuard<K>>),
) -> Infallible
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    loop {
        let mut events = pin!(watcher(api.clone(), config.clone()).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    let is_listed = matches!(event, Event::InitDone);
                    take(event);
                    if is_listed {
                        listed.notify_one();
                    }
                }
                // The watcher goes on by itself, after a pause.
                Err(error) => warn!(error = %chain(&error), "the API server cannot be watched"),
            }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
