//! The listeners of the operator: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::metrics::Metrics;

/// The format of Prometheus with types, as its clients name it.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where a listener is: `:8080` for all interfaces, `127.0.0.1:8080` for one, `0` for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindAddress(pub Option<SocketAddr>);

/// A text that is no address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an address is HOST:PORT, :PORT for all interfaces, or 0 for none")]
pub struct BindAddressError;

impl FromStr for BindAddress {
    type Err = BindAddressError;

    fn from_str(text: &str) -> Result<Self, BindAddressError> {
        if text == "0" {
            return Ok(Self(None));
        }
        let everywhere = |port| SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
        let address = match text.strip_prefix(':') {
            Some(port) => port.parse().ok().map(everywhere),
            None => text.parse().ok(),
        };
        address.map(|address| Self(Some(address))).ok_or(BindAddressError)
    }
}

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

/// Listens, if there is an address, and answers from now on.
pub async fn start(address: BindAddress, router: Router) -> io::Result<Option<SocketAddr>> {
    let Some(address) = address.0 else { return Ok(None) };
    let socket = TcpListener::bind(address).await?;
    let address = socket.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(socket, router).await {
            tracing::error!(error = &error as &dyn std::error::Error, "a listener ended");
        }
    });
    Ok(Some(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_go() {
        let read = |text: &str| text.parse::<BindAddress>().map(|address| address.0);
        assert_eq!(read("0"), Ok(None));
        assert_eq!(read(":8080"), Ok(Some("[::]:8080".parse().unwrap())));
        assert_eq!(read("127.0.0.1:1"), Ok(Some("127.0.0.1:1".parse().unwrap())));
        assert!(read("8080").is_err() && read("").is_err() && read(":x").is_err());
    }
}
