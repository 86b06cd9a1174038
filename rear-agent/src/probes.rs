//! The listeners of the operator: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus.

mod newest;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::newest::Newest;
use crate::metrics::Metrics;

/// The format of Prometheus with types, as its clients name it.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether the agent works.
pub type Readiness = watch::Receiver<bool>;

/// `/healthz` and `/readyz`.
pub fn health(ready: Readiness) -> Router {
    let is_ready = |State(ready): State<Readiness>| async move {
        if *ready.borrow() {
            (StatusCode::OK, "ok")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready: nodes and pods are not listed yet")
        }
    };
    let routes = Router::new().route("/healthz", get(async || "ok"));
    routes.route("/readyz", get(is_ready)).with_state(ready)
}

/// `/metrics`.
pub fn metrics(metrics: Arc<Metrics>) -> Router {
    let show = |State(metrics): State<Arc<Metrics>>| async move { shown(&metrics) };
    Router::new().route("/metrics", get(show)).with_state(metrics)
}

fn shown(metrics: &Metrics) -> Response {
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Listens, and answers from now on.
pub async fn start(address: SocketAddr, router: Router) -> io::Result<SocketAddr> {
    let socket = TcpListener::bind(address).await?;
    let address = socket.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(Newest::new(socket), router).await {
            tracing::error!(error = &error as &dyn std::error::Error, "a listener ended");
        }
    });
    Ok(address)
}
