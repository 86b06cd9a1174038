//! Writes how the broker sees a cluster, if its object is still the one that was looked at.

use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use rear_api::resources::{ClusterAdvertisement as Object, ClusterAdvertisementStatus};
use serde_json::{Value, json};

use super::super::desk::Desk;
use super::super::steps::step;
use super::super::{MANAGER, TryAgain};
use super::decide::Write;

/// Writes it. What is gone needs nothing; what has changed meanwhile is looked at again.
pub(super) async fn apply(desk: &Desk, write: Write) -> Result<(), TryAgain> {
    match write {
        Write::Create { namespace, object, status } => {
            let api = Api::<Object>::namespaced(desk.client.clone(), &namespace);
            let params =
                PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            match api.create(&params, &object).await {
                Ok(created) => {
                    step!("advertisement-made");
                    write_status(desk, &api, &created, *status).await
                }
                Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        Write::Update { place, object, spec, status } => {
            let api = Api::<Object>::namespaced(desk.client.clone(), &place.namespace);
            let Some(spec) = spec else { return write_status(desk, &api, &object, *status).await };
            let body = json!({ "metadata": same(&object), "spec": spec });
            match api.patch(&place.name, &params(), &Patch::Merge(body)).await {
                Ok(patched) => {
                    step!("advertisement-counted");
                    desk.mirror().advertisements.note(patched.clone());
                    write_status(desk, &api, &patched, *status).await
                }
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn same(object: &Object) -> Value {
    json!({ "uid": object.metadata.uid, "resourceVersion": object.metadata.resource_version })
}

async fn write_status(
    desk: &Desk,
    api: &Api<Object>,
    object: &Object,
    mut status: ClusterAdvertisementStatus,
) -> Result<(), TryAgain> {
    status.observed_generation = object.metadata.generation;
    let mut written = serde_json::to_value(&status).map_err(TryAgain::Unwritable)?;
    let before = serde_json::to_value(&object.status).map_err(TryAgain::Unwritable)?;
    if let (Some(written), Some(before)) = (written.as_object_mut(), before.as_object()) {
        for member in before.keys() {
            written.entry(member.clone()).or_insert(Value::Null);
        }
    }
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let body = json!({ "metadata": same(object), "status": written });
    let patched = api.patch_status(name, &params(), &Patch::Merge(body)).await;
    step!("advertisement-shown");
    match patched {
        Ok(patched) => desk.mirror().advertisements.note(patched),
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
