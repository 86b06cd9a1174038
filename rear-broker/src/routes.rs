//! The API: which address does what.

mod actions;
pub(crate) mod addresses;
mod administration;
mod advertisements;
mod around;
mod events;
mod finished;
mod health;
mod instructions;
mod list;
mod named;
mod openapi;
mod reservations;

use std::sync::Arc;

use axum::Router;
use axum::http::Uri;
use axum::routing::{get, post};
use rear_api::problem::{Code, Problem};

use crate::answer::Failure;
use crate::broker::Broker;
use crate::caller::Caller;
use addresses::{
    ACTIVATE, ADVERTISEMENT, ADVERTISEMENTS, CONFIRM_CLOCK, END_RECOVERY, EVENTS, HEALTHZ,
    INSTRUCTIONS, OPENAPI, READYZ, REJECT, RENEW, RESERVATION, RESERVATIONS, SNAPSHOT,
};

pub(crate) use administration::MAX_SNAPSHOTS;
pub(crate) use around::RequestIds;
pub(crate) use events::shown_event;
pub(crate) use list::Query;

pub use around::Api;
pub use openapi::document;

fn router(broker: Arc<Broker>) -> Router {
    Router::new()
        .route(HEALTHZ, get(health::alive))
        .route(READYZ, get(health::ready))
        .route(ADVERTISEMENTS, post(advertisements::publish).get(advertisements::list))
        .route(ADVERTISEMENT, get(advertisements::one).delete(advertisements::forget))
        .route(RESERVATIONS, post(reservations::reserve).get(reservations::list))
        .route(RESERVATION, get(reservations::one).delete(reservations::release))
        .route(ACTIVATE, post(reservations::activate))
        .route(RENEW, post(reservations::renew))
        .route(REJECT, post(reservations::reject))
        .route(INSTRUCTIONS, get(instructions::level))
        .route(EVENTS, get(events::stream))
        .route(SNAPSHOT, get(administration::snapshot))
        .route(END_RECOVERY, post(administration::end_recovery))
        .route(CONFIRM_CLOCK, post(administration::confirm_clock))
        .route(OPENAPI, get(openapi::serve))
        .fallback(nothing)
        .method_not_allowed_fallback(no_such_method)
        .with_state(broker)
}

/// Whether the broker lives and can decide, for a listener without TLS.
pub fn probes(broker: Arc<Broker>) -> Router {
    Router::new()
        .route(HEALTHZ, get(health::alive))
        .route(READYZ, get(health::ready))
        .with_state(broker)
}

/// Also where there is nothing, nobody is answered who has no certificate that counts.
async fn nothing(_caller: Caller) -> Failure {
    Failure::not_found(Code::NotFound)
}

async fn no_such_method(uri: Uri, caller: Result<Caller, Failure>) -> Failure {
    match caller {
        Err(refused) if !matches!(uri.path(), HEALTHZ | READYZ) => refused,
        Ok(_) | Err(_) => {
            Problem::new(Code::MethodNotAllowed, Code::MethodNotAllowed.title()).into()
        }
    }
}
