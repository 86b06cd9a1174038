//! The dashboard: a page that shows how the fleet stands, and what it reads from the broker.
//!
//! It only looks. Sums are made here (`overview`), lists are searched and cut here (`clusters`, `reservations`), and for
//! single objects, events and dry runs it reads the API itself.

mod assets;
mod clusters;
mod overview;
mod reservations;

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Response};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use rear_api::problem::{Code, Problem};
use rear_engine::Timestamp;
use rear_store::Position;

use crate::answer::Failure;
use crate::broker::Broker;
use crate::caller::Connection;
use crate::listen::Answers;
use crate::routes::addresses::{RESERVATIONS, SNAPSHOT};
use crate::routes::{Api, Query};
use overview::Overview;

/// Rows of a list that are shown: whoever looks for more searches.
const MAX_ROWS: usize = 200;

/// What the page needs from the broker.
#[derive(Clone)]
struct Dashboard {
    broker: Arc<Broker>,
    api: Api,
    /// The last overview, and of which state and time it is: however many look, it is made once.
    last: Arc<Mutex<Option<(Position, Timestamp, Bytes)>>>,
}

/// Every address of the dashboard.
pub fn dashboard(broker: Arc<Broker>) -> Router {
    let dashboard = Dashboard { api: Api::new(broker.clone()), broker, last: Arc::default() };
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{name}", get(assets::asset))
        .route("/overview.json", get(overview))
        .route("/clusters.json", get(clusters))
        .route("/reservations.json", get(reservations))
        .route("/life.json", get(life))
        // Not a route with a name in it: the API would take that for one of its own.
        .fallback(look)
        .with_state(dashboard)
}

async fn overview(State(dashboard): State<Dashboard>) -> Response<Body> {
    match dashboard.overview() {
        Ok(bytes) => ([(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => {
            Failure::from(Problem::new(Code::Internal, error.to_string())).into_response()
        }
    }
}

impl Dashboard {
    fn overview(&self) -> Result<Bytes, serde_json::Error> {
        let view = self.broker.store.view();
        let (position, now) = (view.position(), view.now());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, at, overview)) = &*last
            && (*of, *at) == (position, now)
        {
            return Ok(overview.clone());
        }
        let overview = Bytes::from(serde_json::to_vec(&Overview::of(&self.broker, &view))?);
        *last = Some((position, now, overview.clone()));
        Ok(overview)
    }
}

async fn clusters(
    State(dashboard): State<Dashboard>,
    Query(query): Query<clusters::Wanted>,
) -> Json<clusters::Found> {
    Json(clusters::find(&dashboard.broker.store.view(), &query))
}

async fn reservations(
    State(dashboard): State<Dashboard>,
    Query(query): Query<reservations::Wanted>,
) -> Json<reservations::Found> {
    Json(reservations::find(&dashboard.broker.store.view(), &query))
}

async fn life(
    State(dashboard): State<Dashboard>,
    Query(named): Query<reservations::Named>,
) -> Json<Vec<reservations::Step>> {
    Json(reservations::life(&dashboard.broker.store.view(), &named))
}

/// The API, for those who only look; it also says what is not there.
async fn look(
    State(dashboard): State<Dashboard>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Response<Body> {
    if only_looks(&request) {
        return dashboard.api.answer(request, connection).await;
    }
    let detail = "the dashboard only looks: to change something, use the API with a certificate";
    Failure::from(Problem::new(Code::NotAllowed, detail)).into_response()
}

/// A copy of the whole ledger is not a look.
fn only_looks(request: &Request) -> bool {
    let (path, query) = (request.uri().path(), request.uri().query());
    match *request.method() {
        Method::GET => path != SNAPSHOT,
        Method::POST => path == RESERVATIONS && query == Some("dryRun=true"),
        _ => false,
    }
}

/// Amounts of one dimension of one cluster, as numbers for a picture: what is in use, kept aside and free adds up
/// to what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Amounts {
    allocatable: u128,
    /// Workloads have asked for it, of the cluster's own or of others'.
    in_use: u128,
    /// Promised, and not in use yet.
    kept_aside: u128,
    free: u128,
    /// The sum of the live promises, in use or not.
    reserved: u128,
}

impl Amounts {
    fn of(
        cluster: &rear_engine::fleet::Cluster,
        dimension: rear_engine::Dimension,
    ) -> Option<Self> {
        let told = cluster.record().advertisement()?;
        let get = |resources: rear_engine::Resources| u128::from(resources.get(dimension));
        let (allocatable, in_use) = (get(told.allocatable), get(told.allocated));
        let free = get(cluster.available()?.shown());
        let kept_aside = allocatable.saturating_sub(in_use).saturating_sub(free);
        let reserved = get(cluster.ledger().total());
        Some(Self { allocatable, in_use, kept_aside, free, reserved })
    }

    fn add(&mut self, other: Self) {
        self.allocatable += other.allocatable;
        self.in_use += other.in_use;
        self.kept_aside += other.kept_aside;
        self.free += other.free;
        self.reserved += other.reserved;
    }
}
