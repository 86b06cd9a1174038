//! Reservations: ask, look, confirm, prolong, refuse, give back.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use rear_api::body::read;
use rear_api::dry_run::DryRun;
use rear_api::problem::{Code, Problem};
use rear_api::reservation::{RejectRequest, RenewRequest, Reservation, ReservationRequest, Role};
use rear_engine::{Ask, Command, IdempotencyKey, ReservationId};
use rear_store::view::{PhaseName, Query as Wanted, Side};
use serde::Deserialize;
use uuid::Uuid;

use super::actions::About;
use super::addresses::RESERVATIONS;
use super::list::{Nothing, Query, address, member, page, page_length, unreadable};
use super::named::Named;
use super::openapi::Problems;
use crate::answer::{Failure, json};
use crate::broker::Broker;
use crate::caller::Caller;

/// What the client calls its intent.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Whether to explain instead of locking.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct ReserveQuery {
    /// `true` explains and locks nothing.
    dry_run: Option<String>,
}

/// How a list is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// `requester` or `provider`; both if not given.
    role: Option<String>,
    /// `Reserved`, `Active`, `Released` or `Failed`; all if not given.
    phase: Option<String>,
    /// Where to go on, from the link in the page before.
    cursor: Option<String>,
    /// How many at most; 1000 if not given.
    limit: Option<String>,
}

/// Finds room and locks it, or says why there is none.
#[utoipa::path(
    post,
    path = "/api/v1/reservations",
    operation_id = "reserve",
    params(
        ReserveQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "What the client calls its intent")
    ),
    request_body = ReservationRequest,
    responses(
        (status = 201, body = Reservation, description = "Granted, now or before under the same key"),
        (status = 200, body = DryRun, description = "What would be granted, if that was asked"),
        Problems
    )
)]
pub(super) async fn reserve(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    Query(query): Query<ReserveQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Body>, Failure> {
    let explain = member::<bool>("dryRun", query.dry_run.as_deref())?.unwrap_or(false);
    let key = idempotency_key(&headers)?;
    let request: ReservationRequest = read(&caller.whole_body(body).await?)?;
    let ask = request.ask(caller.id())?;
    if !caller.may_see(ask.requester()) {
        let detail = "only an administrator may ask on behalf of another cluster";
        return Err(Problem::new(Code::OtherCluster, detail).into());
    }
    if explain {
        return explanation(&broker, &ask);
    }
    let on_behalf_of = (ask.requester() != caller.id()).then(|| ask.requester().to_string());
    let locked = lock(&broker, &caller, ask, key).await;
    let object = locked.as_ref().ok().map(|(_, id)| id.to_string());
    // The audit log tells for whom it was also if it is refused.
    let mut response = locked.map(|(response, _)| response).into_response();
    response.extensions_mut().insert(About { object, on_behalf_of });
    Ok(response)
}

fn explanation(broker: &Broker, ask: &Ask) -> Result<Response<Body>, Failure> {
    let view = broker.store.view();
    let ranking = rear_engine::explain(view.fleet(), ask, view.now())?;
    let shown = DryRun::of(&ranking, view.position(), broker.telling().names);
    Ok(json(StatusCode::OK, &shown, view.position()))
}

async fn lock(
    broker: &Broker,
    caller: &Caller,
    ask: Ask,
    key: Option<IdempotencyKey>,
) -> Result<(Response<Body>, ReservationId), Failure> {
    // Ids grow with time, so that new rows are beside each other on the disk.
    let id = ReservationId::from_bits(Uuid::now_v7().as_u128());
    let command = Command::Reserve { id, ask: Box::new(ask), key, by: caller.actor() };
    let answer = broker.submit(command).await?;
    let reservation = answer.reservation.as_deref().ok_or_else(unknown)?;
    if reservation.requester() == caller.id() {
        broker.hear_of_requester(caller);
    }
    let mut response = json(StatusCode::CREATED, &Reservation::from(reservation), answer.position);
    let location = format!("{RESERVATIONS}/{}", reservation.id);
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok((response, reservation.id))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Failure> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return Err(unreadable("Idempotency-Key: given more than once"));
    }
    let text = key.to_str().map_err(|_| unreadable("Idempotency-Key: not printable ASCII"))?;
    let invalid = |error| Problem::new(Code::Invalid, format!("Idempotency-Key: {error}"));
    Ok(Some(text.parse().map_err(invalid)?))
}

/// The caller's reservations; every one for an administrator who does not ask for a role.
#[utoipa::path(
    get,
    path = "/api/v1/reservations",
    operation_id = "listReservations",
    params(ListQuery),
    responses((status = 200, body = Vec<Reservation>, description = "A page"), Problems)
)]
pub(super) async fn list(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Response<Body>, Failure> {
    let role = member::<Role>("role", query.role.as_deref())?;
    let phase = query.phase.as_deref().map(phase_name).transpose()?;
    let cursor = member("cursor", query.cursor.as_deref())?;
    let limit = page_length(query.limit.as_deref())?;
    let own = || caller.id().clone();
    let side = match role {
        Some(Role::Requester) => Some(Side::Requester(own())),
        Some(Role::Provider) => Some(Side::Provider(own())),
        None if caller.is_administrator() => None,
        None => Some(Side::Either(own())),
    };
    let view = broker.store.view();
    let found = view.reservations(&Wanted { side, phase }, cursor.as_ref(), limit)?;
    let items: Vec<Reservation> = found.items.iter().map(|kept| Reservation::from(*kept)).collect();
    let filters = [("role", &query.role), ("phase", &query.phase), ("limit", &query.limit)];
    let filters = filters.map(|(name, value)| (name, value.as_deref()));
    let address = address(RESERVATIONS, &filters);
    Ok(page(&items, view.position(), found.next.as_ref(), &address))
}

fn phase_name(text: &str) -> Result<PhaseName, Failure> {
    match text {
        "Reserved" => Ok(PhaseName::Reserved),
        "Active" => Ok(PhaseName::Active),
        "Released" => Ok(PhaseName::Released),
        "Failed" => Ok(PhaseName::Failed),
        _ => Err(unreadable("phase: Reserved, Active, Released or Failed")),
    }
}

/// One reservation.
#[utoipa::path(
    get,
    path = "/api/v1/reservations/{id}",
    operation_id = "getReservation",
    params(("id" = String, Path, description = "The reservation")),
    responses((status = 200, body = Reservation, description = "The reservation"), Problems)
)]
pub(super) async fn one(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
) -> Result<Response<Body>, Failure> {
    let id = read_id(&id)?;
    let view = broker.store.view();
    let kept = view.fleet().reservation(id);
    let visible =
        kept.filter(|kept| caller.may_see(kept.requester()) || caller.may_see(&kept.provider));
    let reservation = visible.ok_or_else(unknown)?;
    Ok(json(StatusCode::OK, &Reservation::from(reservation), view.position()))
}

/// The requester uses it.
#[utoipa::path(
    post,
    path = "/api/v1/reservations/{id}/activate",
    operation_id = "activate",
    params(("id" = String, Path, description = "The reservation")),
    responses((status = 200, body = Reservation, description = "It is in use"), Problems)
)]
pub(super) async fn activate(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
) -> Result<Response<Body>, Failure> {
    let id = read_id(&id)?;
    change(&broker, Command::Activate { id, by: caller.actor() }).await
}

/// The requester wants it for longer.
#[utoipa::path(
    post,
    path = "/api/v1/reservations/{id}/renew",
    operation_id = "renew",
    params(("id" = String, Path, description = "The reservation")),
    request_body = RenewRequest,
    responses((status = 200, body = Reservation, description = "It has a new end"), Problems)
)]
pub(super) async fn renew(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
    body: Body,
) -> Result<Response<Body>, Failure> {
    let id = read_id(&id)?;
    let until = read::<RenewRequest>(&caller.whole_body(body).await?)?.until()?;
    change(&broker, Command::Renew { id, until, by: caller.actor() }).await
}

/// The provider will not keep it.
#[utoipa::path(
    post,
    path = "/api/v1/reservations/{id}/reject",
    operation_id = "reject",
    params(("id" = String, Path, description = "The reservation")),
    request_body = RejectRequest,
    responses((status = 200, body = Reservation, description = "It has failed"), Problems)
)]
pub(super) async fn reject(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
    body: Body,
) -> Result<Response<Body>, Failure> {
    let id = read_id(&id)?;
    let reason = read::<RejectRequest>(&caller.whole_body(body).await?)?.line()?;
    change(&broker, Command::Reject { id, reason, by: caller.actor() }).await
}

/// It is given back; repeating it is fine.
#[utoipa::path(
    delete,
    path = "/api/v1/reservations/{id}",
    operation_id = "release",
    params(("id" = String, Path, description = "The reservation")),
    responses((status = 200, body = Reservation, description = "It was given back"), Problems)
)]
pub(super) async fn release(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    Named(id): Named,
) -> Result<Response<Body>, Failure> {
    let id = read_id(&id)?;
    change(&broker, Command::Release { id, by: caller.actor() }).await
}

/// Decides, and answers with the reservation as it is afterwards.
async fn change(broker: &Broker, command: Command) -> Result<Response<Body>, Failure> {
    let answer = broker.submit(command).await?;
    let reservation = answer.reservation.as_deref().ok_or_else(unknown)?;
    Ok(json(StatusCode::OK, &Reservation::from(reservation), answer.position))
}

fn read_id(text: &str) -> Result<ReservationId, Failure> {
    text.parse().map_err(|_| unknown())
}

fn unknown() -> Failure {
    Failure::not_found(Code::UnknownReservation)
}
