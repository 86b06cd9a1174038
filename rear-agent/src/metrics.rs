//! What operators watch: the sums, whether the broker has them, and what failed.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rear_agent_sdk::{Dimension, Resources};

use crate::collect::sums::Totals;

type OfCluster = Family<Amount, Gauge<u64, AtomicU64>>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Amount {
    kind: &'static str,
    dimension: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// All numbers.
pub struct Metrics {
    registry: Registry,
    amounts: OfCluster,
    nodes: Gauge,
    pods: Gauge,
    published: Gauge,
    leader: Gauge,
    failures: Counter,
    peerings: Family<Outcome, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("rear_agent");
        let metrics = Self {
            amounts: OfCluster::default(),
            nodes: Gauge::default(),
            pods: Gauge::default(),
            published: Gauge::default(),
            leader: Gauge::default(),
            failures: Counter::default(),
            peerings: Family::default(),
            registry: Registry::default(),
        };
        let about = "What the cluster has, in millicores, bytes, devices and bytes";
        registry.register("resources", about, metrics.amounts.clone());
        registry.register("nodes", "Nodes that count", metrics.nodes.clone());
        registry.register("pods", "Pods that count", metrics.pods.clone());
        let about = "Whether the broker has been told the last state";
        registry.register("published", about, metrics.published.clone());
        registry.register("leader", "Whether this copy is at work", metrics.leader.clone());
        let about = "Attempts to bring an object to where it should be that failed";
        registry.register("reconcile_failures", about, metrics.failures.clone());
        registry.register("peerings", "Runs of liqoctl peer", metrics.peerings.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// The sums of this moment.
    pub fn has(&self, totals: &Totals, reserved: Resources, available: Resources) {
        let all = [
            ("capacity", totals.capacity),
            ("allocatable", totals.allocatable),
            ("allocated", totals.allocated),
            ("reserved", reserved),
            ("available", available),
        ];
        for (kind, amounts) in all {
            for dimension in Dimension::ALL {
                let amount = Amount { kind, dimension: dimension.name() };
                self.amounts.get_or_create(&amount).set(amounts.get(dimension));
            }
        }
        self.nodes.set(i64::try_from(totals.nodes).unwrap_or(i64::MAX));
        self.pods.set(i64::try_from(totals.pods).unwrap_or(i64::MAX));
    }

    /// Whether the broker has been told.
    pub fn published(&self, is_so: bool) {
        self.published.set(i64::from(is_so));
    }

    /// Whether this copy is at work.
    pub fn leads(&self, is_so: bool) {
        self.leader.set(i64::from(is_so));
    }

    /// An object could not be brought to where it should be.
    pub fn reconcile_failed(&self) {
        self.failures.inc();
    }

    /// liqoctl has ended.
    pub fn peered(&self, well: bool) {
        let outcome = if well { "success" } else { "failure" };
        self.peerings.get_or_create(&Outcome { outcome }).inc();
    }

    /// All of it, as Prometheus reads it.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
