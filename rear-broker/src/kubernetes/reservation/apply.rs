//! Writes what an object should say, if it is still the one that was looked at.

use std::sync::Arc;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use rear_api::resources::names::{FINALIZER, NAME_ANNOTATION, VIEW_LABEL};
use rear_api::resources::{Reservation as Object, ReservationStatus};
use serde_json::{Value, json};

use super::super::desk::Desk;
use super::super::shelf::Place;
use super::super::steps::step;
use super::super::{MANAGER, TryAgain};
use super::decide::Write;
use super::seen::{Kind, Seen};
use super::status::{pending, ready_to_write};

/// Writes it. What is gone needs nothing; what has changed meanwhile is looked at again.
pub(super) async fn apply(desk: &Desk, write: &Write) -> Result<(), TryAgain> {
    match write {
        Write::Status { place, of, status } => {
            let Some(object) = known(desk, place) else { return Ok(()) };
            if object.metadata.resource_version != *of {
                // Somebody has said something since, which must not be lost.
                return Err(TryAgain::Unsettled);
            }
            write_status(desk, place, &object, status).await
        }
        Write::Hold { place, held, target } => {
            let Some(object) = known(desk, place) else { return Ok(()) };
            hold(desk, place, &object, *held, target.as_deref()).await
        }
        Write::Create { place, view, name, spec, status } => {
            let mut object = Object::new(&place.name, (**spec).clone());
            object.labels_mut().insert(VIEW_LABEL.to_owned(), (*view).to_owned());
            let name = name.iter().map(|name| (NAME_ANNOTATION.to_owned(), name.clone()));
            object.annotations_mut().extend(name);
            create(desk, place, &object, status).await
        }
        Write::Delete { place } => {
            let deleted = api(desk, place).delete(&place.name, &DeleteParams::default()).await;
            step!("view-removed");
            unless_gone(deleted).map(drop)
        }
    }
}

/// Tells whoever waits that it will take longer, and why.
pub(super) async fn say_pending(desk: &Desk, seen: &Seen, why: &str) -> Result<(), TryAgain> {
    if seen.record.is_some() {
        return Ok(());
    }
    let original = seen.objects.iter().find(|seen| seen.kind() == Kind::Original);
    let Some(original) = original else { return Ok(()) };
    let status = pending(seen, why, original.object.status.as_ref());
    match ready_to_write(seen, status, original.object.status.as_ref()) {
        Some(status) => write_status(desk, &original.place, &original.object, &status).await,
        None => Ok(()),
    }
}

fn api(desk: &Desk, place: &Place) -> Api<Object> {
    Api::namespaced(desk.client.clone(), &place.namespace)
}

fn known(desk: &Desk, place: &Place) -> Option<Arc<Object>> {
    desk.mirror().reservations.get(place)
}

async fn write_status(
    desk: &Desk,
    place: &Place,
    object: &Object,
    status: &ReservationStatus,
) -> Result<(), TryAgain> {
    let written = serde_json::to_value(status).map_err(TryAgain::Unwritable)?;
    let before = serde_json::to_value(&object.status).map_err(TryAgain::Unwritable)?;
    let body = json!({ "metadata": same(object), "status": with_removals(written, &before) });
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = api(desk, place).patch_status(&place.name, &params, &Patch::Merge(body)).await;
    step!("status-written");
    if let Some(object) = unless_gone(patched)? {
        desk.mirror().reservations.note(object);
    }
    Ok(())
}

async fn hold(
    desk: &Desk,
    place: &Place,
    object: &Object,
    held: bool,
    target: Option<&str>,
) -> Result<(), TryAgain> {
    let others = object.finalizers().iter().filter(|known| *known != FINALIZER).cloned();
    let finalizers: Vec<String> = others.chain(held.then(|| FINALIZER.to_owned())).collect();
    let mut metadata = same(object);
    metadata["finalizers"] = json!(finalizers);
    let mut body = json!({ "metadata": metadata });
    if let Some(target) = target {
        body["spec"] = json!({ "targetClusterID": target });
    }
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = api(desk, place).patch(&place.name, &params, &Patch::Merge(body)).await;
    step!(if held { "held" } else { "let-go" });
    if let Some(object) = unless_gone(patched)?
        && object.metadata.deletion_timestamp.is_none()
    {
        desk.mirror().reservations.note(object);
    }
    Ok(())
}

async fn create(
    desk: &Desk,
    place: &Place,
    object: &Object,
    status: &ReservationStatus,
) -> Result<(), TryAgain> {
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api(desk, place).create(&params, object).await {
        Ok(created) => {
            step!("copy-made");
            write_status(desk, place, &created, status).await
        }
        // The watch is about to tell of it.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Only this object, as it was looked at.
fn same(object: &Object) -> Value {
    json!({ "uid": object.metadata.uid, "resourceVersion": object.metadata.resource_version })
}

/// Members that should not be there any more are named, so that a merge removes them.
fn with_removals(mut written: Value, before: &Value) -> Value {
    if let (Some(written), Some(before)) = (written.as_object_mut(), before.as_object()) {
        for member in before.keys() {
            written.entry(member.clone()).or_insert(Value::Null);
        }
    }
    written
}

fn unless_gone<T>(outcome: Result<T, kube::Error>) -> Result<Option<T>, TryAgain> {
    match outcome {
        Ok(done) => Ok(Some(done)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
