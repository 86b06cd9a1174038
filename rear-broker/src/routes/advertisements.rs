//! What clusters say of themselves: publish, look, forget.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use rear_api::advertisement::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Familiar, Seen,
};
use rear_api::body::read;
use rear_api::instruction::for_provider;
use rear_api::problem::{Code, Problem};
use rear_engine::{ClusterId, Command};
use rear_store::View;
use serde::{Deserialize, Serialize};

use super::addresses::ADVERTISEMENTS;
use super::list::{Nothing, Query, address, member, page, page_length};
use super::named::Named;
use super::openapi::Problems;
use crate::answer::{Failure, json, json_text, written};
use crate::broker::Broker;
use crate::caller::Caller;
use crate::limits::MAX_INSTRUCTIONS;

/// How a list is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Where to go on, from the link in the page before.
    cursor: Option<String>,
    /// How many at most; 1000 if not given.
    limit: Option<String>,
}

/// Stores an advertisement, and answers with it as the broker sees it and with what to keep aside.
#[utoipa::path(
    post,
    path = "/api/v1/advertisements",
    operation_id = "advertise",
    request_body = AdvertisementRequest,
    responses((status = 200, body = AdvertisementAnswer, description = "Stored"), Problems)
)]
pub(super) async fn publish(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    body: Body,
) -> Result<Response<Body>, Failure> {
    let body = caller.whole_body(body).await?;
    let mut familiar = caller.take_familiar();
    let known = familiar.as_mut().and_then(|familiar| familiar.understand(&body));
    let command = if let Some(command) = known {
        command
    } else {
        let command = understand(&body, caller.id())?;
        familiar = Familiar::new(&body, &command).map(Box::new);
        command
    };
    broker.advertise(command).await?;
    let view = broker.store.view();
    let answer = answer(&view, caller.id(), familiar.as_deref_mut())?;
    caller.keep_familiar(familiar);
    Ok(written(StatusCode::OK, answer, view.position()))
}

fn understand(body: &[u8], caller: &ClusterId) -> Result<Command, Failure> {
    let request: AdvertisementRequest = read(body)?;
    if request.cluster_id != caller.as_str() {
        let detail = format!("the certificate is for {caller}, the body names another");
        return Err(Problem::new(Code::OtherCluster, detail).into());
    }
    Ok(request.into_command()?)
}

/// The cluster as the broker sees it, and what to keep aside. Where that is nothing, the answer of before is mostly still so.
fn answer(
    view: &View,
    id: &ClusterId,
    familiar: Option<&mut Familiar>,
) -> Result<Vec<u8>, Failure> {
    let seen = seen(view, id).ok_or_else(unknown)?;
    let promises = view.fleet().live_of_provider(id);
    let instructions: Vec<_> = promises.take(MAX_INSTRUCTIONS).map(for_provider).collect();
    let provider_instructions = (!instructions.is_empty()).then_some(instructions);
    let familiar = familiar.filter(|_| provider_instructions.is_none());
    if let Some(answer) = familiar.as_ref().and_then(|familiar| familiar.answer(&seen)) {
        return Ok(answer);
    }
    let advertisement = Advertisement::of(seen).ok_or_else(unknown)?;
    let answer = json_text(&AdvertisementAnswer { advertisement, provider_instructions })?;
    if let Some(familiar) = familiar {
        familiar.was_shown(&seen, &answer);
    }
    Ok(answer)
}

/// Every cluster for an administrator; itself for a cluster.
#[utoipa::path(
    get,
    path = "/api/v1/advertisements",
    operation_id = "listAdvertisements",
    params(ListQuery),
    responses((status = 200, body = Vec<Advertisement>, description = "A page"), Problems)
)]
pub(super) async fn list(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Response<Body>, Failure> {
    let cursor = member("cursor", query.cursor.as_deref())?;
    let limit = page_length(query.limit.as_deref())?;
    let view = broker.store.view();
    if !caller.is_administrator() {
        // One page at most, and the same answer to a cursor that cannot be.
        view.clusters(cursor.as_ref(), 1)?;
        let own: Vec<Advertisement> = shown(&view, caller.id()).into_iter().collect();
        return Ok(json(StatusCode::OK, &own, view.position()));
    }
    let found = view.clusters(cursor.as_ref(), limit)?;
    let clusters = found.items.iter().map(|kept| kept.record().id.clone());
    let clusters: Vec<Advertisement> = clusters.filter_map(|id| shown(&view, &id)).collect();
    let address = address(ADVERTISEMENTS, &[("limit", query.limit.as_deref())]);
    Ok(page(&clusters, view.position(), found.next.as_ref(), &address))
}

/// One cluster.
#[utoipa::path(
    get,
    path = "/api/v1/advertisements/{id}",
    operation_id = "getAdvertisement",
    params(("id" = String, Path, description = "The cluster")),
    responses((status = 200, body = Advertisement, description = "The cluster"), Problems)
)]
pub(super) async fn one(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
) -> Result<Response<Body>, Failure> {
    let id = visible(&caller, &id)?;
    let view = broker.store.view();
    let advertisement = shown(&view, &id).ok_or_else(unknown)?;
    Ok(json(StatusCode::OK, &advertisement, view.position()))
}

/// What is left of a cluster that was forgotten.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Forgotten {
    #[serde(rename = "clusterID")]
    cluster_id: String,
}

/// A cluster is gone for good.
#[utoipa::path(
    delete,
    path = "/api/v1/advertisements/{id}",
    operation_id = "forgetCluster",
    params(("id" = String, Path, description = "The cluster")),
    responses((status = 200, body = Forgotten, description = "It is forgotten"), Problems)
)]
pub(super) async fn forget(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
) -> Result<Response<Body>, Failure> {
    let cluster = visible(&caller, &id)?;
    let forgotten = Forgotten { cluster_id: cluster.to_string() };
    let answer = broker.submit(Command::Forget { cluster, by: caller.actor() }).await?;
    Ok(json(StatusCode::OK, &forgotten, answer.position))
}

/// The cluster of this name, if the caller may know whether there is one.
fn visible(caller: &Caller, id: &str) -> Result<ClusterId, Failure> {
    let id: Option<ClusterId> = id.parse().ok();
    id.filter(|id| caller.may_see(id)).ok_or_else(unknown)
}

fn unknown() -> Failure {
    Failure::not_found(Code::UnknownCluster)
}

/// A cluster as the broker sees it.
pub(super) fn shown(view: &View, id: &ClusterId) -> Option<Advertisement> {
    Advertisement::of(seen(view, id)?)
}

fn seen<'v>(view: &'v View, id: &ClusterId) -> Option<Seen<'v>> {
    Seen::of(view.fleet(), view.fleet().cluster(id)?, view.now())
}
