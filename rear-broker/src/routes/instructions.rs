//! Instructions: what a cluster has to do, as a level: all of it, with the state that it is from. Ten thousand and
//! more come page by page.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use rear_api::instruction::{for_provider, for_requester};
use rear_api::problem::{Code, Problem};
use rear_api::reservation::{Reservation, Role};
use rear_engine::ClusterId;
use rear_store::view::Role as Side;
use rear_store::{Position, Store, View};
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until};

use super::addresses::INSTRUCTIONS;
use super::list::{Query, address, member, page, unreadable};
use super::openapi::Problems;
use crate::answer::Failure;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::limits::{MAX_INSTRUCTIONS, MAX_WAIT};
use crate::listen::stopped;

/// How instructions are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LevelQuery {
    /// `provider` (if not given) or `requester`.
    role: Option<String>,
    /// How long to hold the answer until there is news, such as `30s`; with `after`.
    wait: Option<String>,
    /// The revision of the last answer.
    after: Option<String>,
    /// Where to go on, from the link in the page before.
    cursor: Option<String>,
}

/// The live promises of which the caller is a side; held back until there is news, if the caller wants that.
#[utoipa::path(
    get,
    path = "/api/v1/instructions",
    operation_id = "getInstructions",
    params(LevelQuery),
    responses((status = 200, body = Vec<Reservation>, description = "All of them"), Problems)
)]
pub(super) async fn level(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    Query(query): Query<LevelQuery>,
) -> Result<Response<Body>, Failure> {
    let role = member("role", query.role.as_deref())?.unwrap_or(Role::Provider);
    let after: Option<Position> = member("after", query.after.as_deref())?;
    let wait = query.wait.as_deref().map(read_wait).transpose()?;
    let cursor = member("cursor", query.cursor.as_deref())?;
    if let Some(after) = after {
        has_been_there(&broker.store, after)?;
    }
    if let (Some(after), Some(wait)) = (after, wait) {
        wait_for_news(&broker, &caller, role, after, wait).await;
        caller.still_counts()?;
    }
    let view = broker.store.view();
    let promises = view.promises(caller.id(), side(role), cursor.as_ref(), MAX_INSTRUCTIONS)?;
    let instructions: Vec<Reservation> =
        promises.items.iter().map(|kept| told(role)(kept)).collect();
    let address = address(INSTRUCTIONS, &[("role", query.role.as_deref())]);
    Ok(page(&instructions, view.position(), promises.next.as_ref(), &address))
}

fn read_wait(text: &str) -> Result<Duration, Failure> {
    let wait: rear_engine::Duration =
        text.parse().map_err(|error| unreadable(format!("wait: {error}")))?;
    let nanos = u64::try_from(wait.as_nanos()).map_err(|_| unreadable("wait: below zero"))?;
    Ok(Duration::from_nanos(nanos).min(MAX_WAIT))
}

/// A ledger that nobody shares has no future that anyone could have seen: another one was in its place, or its end was lost. Whoever
/// waited for news after that state would wait until as much has happened again.
fn has_been_there(store: &Store, after: Position) -> Result<(), Failure> {
    let present = store.view().position();
    let ahead = after.incarnation == present.incarnation && after > present;
    if ahead && store.standing().is_none() {
        let detail = format!("this ledger is at {present} and has not been at {after}: list again");
        return Err(Problem::new(Code::OlderIncarnation, detail).into());
    }
    Ok(())
}

/// Until something of the caller's has changed after a state, the time is over, its certificate counts no longer, or the broker
/// stops. Whoever waits is there.
async fn wait_for_news(
    broker: &Broker,
    caller: &Caller,
    role: Role,
    after: Position,
    wait: Duration,
) {
    let deadline = Instant::now() + wait;
    let mut stopping = broker.stopping.clone();
    // Subscribed before the state is looked at: nothing can happen unnoticed in between.
    let mut news = broker.store.subscribe(Some(caller.id()));
    while !has_changed(&broker.store.view(), caller.id(), role, after) {
        tokio::select! {
            changed = news.changed() => if changed.is_err() { return },
            () = sleep_until(deadline) => return,
            () = sleep(broker.sign_every()) => match caller.still_counts() {
                Ok(()) => broker.hear(caller),
                Err(_) => return,
            },
            () = stopped(&mut stopping) => return,
        }
    }
}

fn has_changed(view: &View, caller: &ClusterId, role: Role, after: Position) -> bool {
    // What was remembered of another life of the ledger says nothing.
    after.incarnation != view.position().incarnation || view.last_change(caller, side(role)) > after
}

/// What a promise says to one of its sides.
fn told(role: Role) -> fn(&rear_engine::Reservation) -> Reservation {
    match role {
        Role::Provider => for_provider,
        Role::Requester => for_requester,
    }
}

/// The side in the words of the store.
fn side(role: Role) -> Side {
    match role {
        Role::Requester => Side::Requester,
        Role::Provider => Side::Provider,
    }
}
