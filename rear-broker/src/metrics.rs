//! What is counted, in the format of Prometheus.

mod ledger;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::broker::Broker;

/// Which requests, and how they were answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: &'static str,
    status: u16,
}

/// What was to be done, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Decision {
    action: &'static str,
    outcome: &'static str,
    /// The code of the problem; empty where there was none.
    reason: &'static str,
}

/// Every counter of the broker.
#[derive(Debug)]
pub struct Metrics {
    registry: RwLock<Registry>,
    requests: Family<Request, Counter>,
    decisions: Family<Decision, Counter>,
    panics: Counter,
    rate_limited: Counter,
    connections: Gauge,
    connections_refused: Counter,
    handshakes_failed: Counter,
    certificates_reloaded: Counter,
    certificates_refused: Counter,
    streams_closed: Counter,
    certificate_expiry: Gauge<i64, std::sync::atomic::AtomicI64>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Nothing has been counted yet.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: RwLock::new(Registry::with_prefix("rear_broker")),
            requests: Family::default(),
            decisions: Family::default(),
            panics: Counter::default(),
            rate_limited: Counter::default(),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            handshakes_failed: Counter::default(),
            certificates_reloaded: Counter::default(),
            certificates_refused: Counter::default(),
            streams_closed: Counter::default(),
            certificate_expiry: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = self.registry.get_mut().unwrap_or_else(PoisonError::into_inner);
        registry.register("requests", "Requests by how they were answered", self.requests.clone());
        registry.register(
            "decisions",
            "Requests that may change something, by what became of them and why",
            self.decisions.clone(),
        );
        let counters: [(&str, &str, &Counter<u64, AtomicU64>); 7] = [
            ("panics", "Requests that ended in a panic", &self.panics),
            ("rate_limited", "Requests that came too often", &self.rate_limited),
            ("connections_refused", "Connections beyond the limit", &self.connections_refused),
            ("handshakes_failed", "Handshakes that failed", &self.handshakes_failed),
            ("certificates_reloaded", "Changes of the certificates", &self.certificates_reloaded),
            (
                "certificates_refused",
                "Changes of the certificates that could not be used",
                &self.certificates_refused,
            ),
            ("event_streams_closed", "Event streams that have ended", &self.streams_closed),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        registry.register("connections", "Connections that are open", self.connections.clone());
        registry.register(
            "certificate_expiry_timestamp_seconds",
            "When the broker's own certificate expires",
            self.certificate_expiry.clone(),
        );
    }

    /// The ledger of this broker is read whenever someone asks, with a series for each cluster if that is wanted.
    pub fn watch(&self, broker: &Arc<Broker>) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(Box::new(ledger::Ledger { broker: Arc::downgrade(broker) }));
    }

    /// Everything that was counted.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry.read().unwrap_or_else(PoisonError::into_inner))?;
        Ok(text)
    }

    pub(crate) fn answered(&self, method: &Method, route: &'static str, status: StatusCode) {
        let request = Request { method: name(method), route, status: status.as_u16() };
        self.requests.get_or_create(&request).inc();
    }

    pub(crate) fn decided(
        &self,
        action: &'static str,
        status: StatusCode,
        reason: Option<&'static str>,
    ) {
        let outcome = match status.as_u16() {
            200..=299 => "done",
            500.. => "failed",
            _ => "refused",
        };
        let decision = Decision { action, outcome, reason: reason.unwrap_or_default() };
        self.decisions.get_or_create(&decision).inc();
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    pub(crate) fn rate_limited(&self) {
        self.rate_limited.inc();
    }

    pub(crate) fn connection_opened(&self) {
        self.connections.inc();
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.dec();
    }

    pub(crate) fn connection_refused(&self) {
        self.connections_refused.inc();
    }

    pub(crate) fn handshake_failed(&self) {
        self.handshakes_failed.inc();
    }

    pub(crate) fn certificates_reloaded(&self) {
        self.certificates_reloaded.inc();
    }

    pub(crate) fn certificates_refused(&self) {
        self.certificates_refused.inc();
    }

    pub(crate) fn certificate_expires(&self, at: i64) {
        self.certificate_expiry.set(at);
    }

    /// When the broker's own certificate expires, in seconds since 1970.
    pub(crate) fn certificate_expiry(&self) -> i64 {
        self.certificate_expiry.get()
    }

    pub(crate) fn stream_closed(&self) {
        self.streams_closed.inc();
    }
}

/// Few names, whatever clients call their methods: each is a series.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
