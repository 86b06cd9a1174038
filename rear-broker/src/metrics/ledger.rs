//! What the ledger holds and what its writer has done, read when someone asks.

use std::fmt::{Debug, Error};
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::routes::Broker;

/// Reads the ledger for the metrics, without keeping the broker alive: it counts with them.
pub(super) struct Ledger {
    pub(super) broker: Weak<Broker>,
    /// Whether each cluster has series of its own.
    pub(super) per_cluster: bool,
}

impl Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl Collector for Ledger {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let Some(broker) = self.broker.upgrade() else { return Ok(()) };
        let store = &broker.store;
        let done = store.meters().read();
        let counters = [
            ("commits", "Batches that became durable", done.commits),
            ("changes", "Changes that became durable", done.changes),
            ("failed_commits", "Batches that did not become durable", done.failed_commits),
            ("granted", "Reservations that were granted", done.granted),
            ("expired", "Reservations whose time was over", done.expired),
            ("requesters_gone", "Reservations whose requester was gone", done.requesters_gone),
            ("became_stale", "Clusters that fell silent", done.became_stale),
            ("retired", "Ended reservations remembered no longer", done.retired),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        let counts = store.view().counts();
        let gauges = [
            ("clusters", "Clusters that are known", counts.clusters),
            ("reservations_reserved", "Promises that nobody uses yet", counts.reserved),
            ("reservations_active", "Promises in use", counts.active),
            ("reservations_released", "Reservations given back, still remembered", counts.released),
            ("reservations_failed", "Reservations that failed, still remembered", counts.failed),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            let metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(metric)?;
        }
        Ok(())
    }
}
