//! One file for each kind of custom resource: what is so is compared with what should be, and the difference done.

pub mod advertisement;
pub mod provider_instruction;
pub mod reservation_instruction;
pub mod resource_request;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::core::{DeserializeGuard, ObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, Action};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use rear_agent_sdk::Chain;
use rear_agent_sdk::unreadable::Unreadable;
use serde::de::DeserializeOwned;
use tracing::{debug, warn};

use crate::context::{Context, ReconcileError};

/// After something failed that should work: soon, and not in a rush.
const PAUSE: Duration = Duration::from_secs(5);

/// What has failed is tried again.
#[expect(clippy::needless_pass_by_value, reason = "the type that controllers expect")]
fn again<K: Resource>(_: Arc<K>, _: &ReconcileError, context: Arc<Context>) -> Action {
    context.metrics.reconcile_failed();
    Action::requeue(PAUSE)
}

/// What a watch tells, which is put into a store as well. What cannot be read stays there as it was last read.
fn watched<K>(
    api: Api<DeserializeGuard<K>>,
    writer: Writer<K>,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let store = writer.as_reader();
    let last_read = move |meta: &ObjectMeta| {
        let named = ObjectRef::new(meta.name.as_deref()?);
        let known = store.get(&named.within(meta.namespace.as_deref()?))?;
        (known.meta().uid == meta.uid).then(|| K::clone(&known))
    };
    let events = watcher(api, watcher::Config::default()).default_backoff();
    Unreadable::default().follow(events, last_read).reflect(writer)
}

/// Runs a controller for as long as it is polled.
async fn drive<K>(
    results: impl Stream<
        Item = Result<(ObjectRef<K>, Action), controller::Error<ReconcileError, watcher::Error>>,
    >,
) where
    K: Resource<DynamicType = ()>,
{
    let mut results = std::pin::pin!(results);
    while let Some(result) = results.next().await {
        match result {
            Ok((object, _)) => debug!(%object, "as it should be"),
            // Something gone before its turn came.
            Err(controller::Error::ObjectNotFound(object)) => debug!(%object, "gone"),
            Err(error) => warn!(error = %Chain(&error), "tried again later"),
        }
    }
}
