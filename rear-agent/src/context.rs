//! What every controller has at hand: the API server, the broker if there is one, and a way to tell people.

use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Patch, PatchParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client, Resource, ResourceExt};
use rear_agent_sdk::communicator::ClusterId;
use rear_agent_sdk::unreadable::Unreadable;
use rear_agent_sdk::{BrokerCommunicator, Chain, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tracing::warn;

use crate::liqo::Liqo;
use crate::metrics::Metrics;

/// As events name who tells them.
const REPORTER: &str = "rear-agent";

/// Kubernetes refuses notes of more than 1024 bytes; a character has at most four.
const LONGEST_NOTE: usize = 256;

/// What every controller has at hand.
pub struct Context {
    /// To the API server.
    pub client: Client,
    /// This cluster.
    pub cluster: ClusterId,
    /// The broker, if one is configured.
    pub broker: Option<Arc<dyn BrokerCommunicator>>,
    /// Where instructions are kept.
    pub namespace: String,
    /// Starts peerings, if configured.
    pub liqo: Option<Liqo>,
    /// What operators watch.
    pub metrics: Arc<Metrics>,
    /// What cannot be read of what is listed.
    pub unreadable: Unreadable,
    recorder: Recorder,
}

/// Why an object could not be brought to where it should be.
#[derive(Debug, Error)]
pub enum ReconcileError {
    /// The API server did not do it.
    #[error("the API server did not do it")]
    Kubernetes(#[from] kube::Error),
    /// The broker did not do it.
    #[error("the broker did not do it")]
    Broker(#[from] Error),
    /// Another object of this name has to go first.
    #[error("the instruction of an earlier reservation of this name is still being withdrawn")]
    BeingWithdrawn,
}

impl Context {
    /// For a cluster, with instructions in a namespace.
    #[must_use]
    pub fn new(
        client: Client,
        cluster: ClusterId,
        broker: Option<Arc<dyn BrokerCommunicator>>,
        namespace: String,
        liqo: Option<Liqo>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let reporter = Reporter { controller: REPORTER.to_owned(), instance: None };
        let recorder = Recorder::new(client.clone(), reporter);
        let unreadable = Unreadable::default();
        Self { client, cluster, broker, namespace, liqo, metrics, unreadable, recorder }
    }

    /// Instructions of a kind.
    #[must_use]
    pub fn instructions<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Tells people about a transition, in the object's events. Nobody waits for it, and an event that is lost changes
    /// nothing else.
    pub fn tell<K>(&self, object: &K, kind: EventType, reason: &str, note: &str)
    where
        K: Resource<DynamicType = ()>,
    {
        let event = Event {
            type_: kind,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let (recorder, object) = (self.recorder.clone(), object.object_ref(&()));
        tokio::spawn(async move {
            if let Err(error) = recorder.publish(&event, &object).await {
                warn!(reason = event.reason, error = %Chain(&error), "an event was not recorded");
            }
        });
    }
}

/// Writes the agent's fields of an object; fields of others stay. What nobody names any more goes.
pub async fn apply<K>(api: &Api<K>, manager: &str, object: &K) -> Result<K, kube::Error>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let name = object.meta().name.clone().unwrap_or_default();
    api.patch(&name, &PatchParams::apply(manager).force(), &Patch::Apply(object)).await
}

/// The same for an object whose spec is the agent's alone: what somebody else has added to it goes, too.
pub async fn apply_alone<K>(api: &Api<K>, manager: &str, object: &K) -> Result<K, kube::Error>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let written = apply(api, manager, object).await?;
    let Some(removals) = surplus(&spec_of(object)?, &spec_of(&written)?) else {
        return Ok(written);
    };
    let resource_version = written.resource_version();
    let patch = json!({ "metadata": { "resourceVersion": resource_version }, "spec": removals });
    let name = object.meta().name.clone().unwrap_or_default();
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    api.patch(&name, &params, &Patch::Merge(patch)).await
}

fn spec_of(object: &impl Serialize) -> Result<Value, kube::Error> {
    let mut object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    Ok(object["spec"].take())
}

/// The members that there are and should not be, as a merge that removes them.
fn surplus(wanted: &Value, there: &Value) -> Option<Value> {
    let (wanted, there) = (wanted.as_object()?, there.as_object()?);
    let others = there.keys().filter(|member| !wanted.contains_key(*member));
    let removals: Map<_, _> = others.map(|member| (member.clone(), Value::Null)).collect();
    (!removals.is_empty()).then_some(Value::Object(removals))
}

/// Writes the status of an object. One that is gone needs none; another one under the same name may get it, as the API
/// server does not compare identities where only a status is written.
pub async fn apply_status<K>(
    api: &Api<K>,
    manager: &str,
    object: &K,
    status: &impl Serialize,
) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let name = object.meta().name.clone().unwrap_or_default();
    let body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": name, "uid": object.meta().uid },
        "status": status,
    });
    let params = PatchParams::apply(manager).force();
    if_there(api.patch_status(&name, &params, &Patch::Apply(body)).await).map(drop)
}

/// Sets the agent's finalizers and annotations of an object, and returns it, if it is still there.
pub async fn apply_metadata<K>(
    api: &Api<K>,
    manager: &str,
    object: &K,
    finalizers: &[&str],
    annotations: &Value,
) -> Result<Option<K>, kube::Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    let name = object.meta().name.clone().unwrap_or_default();
    let body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": {
            "name": name,
            "uid": object.meta().uid,
            "finalizers": finalizers,
            "annotations": annotations,
        },
    });
    let params = PatchParams::apply(manager).force();
    if_there(api.patch(&name, &params, &Patch::Apply(body)).await)
}

/// Takes the agent's finalizer off an object, whoever wrote it: a copy of an object has it from the beginning.
pub async fn let_go<K>(
    api: &Api<K>,
    manager: &str,
    object: &K,
    finalizer: &str,
) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    let Some(left) = apply_metadata(api, manager, object, &[], &json!({})).await? else {
        return Ok(());
    };
    let others: Vec<_> = left.finalizers().iter().filter(|known| *known != finalizer).collect();
    if others.len() == left.finalizers().len() {
        return Ok(());
    }
    let resource_version = left.resource_version();
    let patch =
        json!({ "metadata": { "resourceVersion": resource_version, "finalizers": others } });
    let name = object.meta().name.as_deref().unwrap_or_default();
    match api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// What is gone, or another object under the same name by now, is not an error: its own event follows.
fn if_there<T>(outcome: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match outcome {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_in_a_spec_is_taken_out_and_nothing_else_is_touched() {
        let wanted = json!({ "requestedCPU": "1", "message": "use it" });
        assert_eq!(surplus(&wanted, &wanted), None);
        let there = json!({ "requestedCPU": "1", "message": "use it", "expiresAt": "tomorrow" });
        assert_eq!(surplus(&wanted, &there), Some(json!({ "expiresAt": null })));
        assert_eq!(surplus(&wanted, &json!({ "requestedCPU": "2" })), None);
    }
}
