//! What the ledger holds and what its writer has done, read when someone asks.

use std::fmt::{Debug, Error};
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Unit;
use rear_engine::Dimension;
use rear_store::Store;
use rear_store::meters::{Distributed, Meters};
use rear_store::view::{Amounts, State, Sum, Tally};

use crate::broker::Broker;

/// Reads the ledger for the metrics, without keeping the broker alive: it counts with them.
pub(super) struct Ledger {
    pub(super) broker: Weak<Broker>,
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
        encode_tasks(&mut encoder)?;
        encode_audit(&broker, &mut encoder)?;
        encode_counts(store, &mut encoder)?;
        encode_writer(store.meters(), &mut encoder)?;
        encode_standing(store, &mut encoder)?;
        let tally = store.tally(broker.telling().each_cluster);
        encode_states(&tally, &mut encoder)?;
        for (name, help, unit, amount) in AMOUNTS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for dimension in Dimension::ALL {
                let labels = [("dimension", dimension.name())];
                let value = amount(&tally.all).in_units(dimension);
                metric.encode_family(&labels)?.encode_gauge(&value)?;
            }
            encode_each(&tally, name, unit, amount, &mut encoder)?;
        }
        Ok(())
    }
}

/// Part of what clusters have.
type Part = fn(&Amounts) -> &Sum;

/// Names of sums over all clusters, and of the same for each.
const AMOUNTS: [(&str, &str, &str, Part); 3] = [
    (
        "allocatable",
        "What all clusters could give, in cores, bytes and devices",
        "cluster_allocatable",
        |amounts| &amounts.allocatable,
    ),
    (
        "reserved",
        "What all clusters have promised, in cores, bytes and devices",
        "cluster_reserved",
        |amounts| &amounts.reserved,
    ),
    (
        "available",
        "What is left on all clusters, in cores, bytes and devices",
        "cluster_available",
        |amounts| &amounts.available,
    ),
];

fn encode_each(
    tally: &Tally,
    whole: &str,
    name: &str,
    part: Part,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), Error> {
    if tally.each.is_empty() {
        return Ok(());
    }
    let help = format!("The part of {whole} that is of each cluster");
    let mut metric = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
    for (cluster, amounts) in &tally.each {
        for dimension in Dimension::ALL {
            let labels = [("cluster", cluster.as_str()), ("dimension", dimension.name())];
            metric.encode_family(&labels)?.encode_gauge(&part(amounts).in_units(dimension))?;
        }
    }
    Ok(())
}

/// Whoever asks for the metrics does so in the runtime that all tasks are in.
fn encode_tasks(encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Ok(()) };
    let help = "Tasks of the program: a level for each number of connections, and no more";
    let mut metric = encoder.encode_descriptor("tasks", help, None, MetricType::Gauge)?;
    metric.encode_gauge(&whole(runtime.metrics().num_alive_tasks()))
}

fn encode_audit(broker: &Broker, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help =
        "Whether lines of the audit log wait because it cannot be written: nothing is changed then";
    let mut metric = encoder.encode_descriptor("audit_log_stuck", help, None, MetricType::Gauge)?;
    metric.encode_gauge(&i64::from(broker.audit.trouble().is_some()))
}

fn encode_counts(store: &Store, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
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
    let phases = [
        ("Reserved", counts.reserved),
        ("Active", counts.active),
        ("Released", counts.released),
        ("Failed", counts.failed),
    ];
    let help = "Reservations by phase; ended ones as long as they are remembered";
    let mut metric = encoder.encode_descriptor("reservations", help, None, MetricType::Gauge)?;
    for (phase, count) in phases {
        metric.encode_family(&[("phase", phase)])?.encode_gauge(&whole(count))?;
    }
    Ok(())
}

/// How a ledger stands that several brokers share.
fn encode_standing(store: &Store, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let Some(standing) = store.standing() else { return Ok(()) };
    let done = store.meters().read();
    let counters = [
        ("journal_followed", "Entries of other brokers that were applied", done.followed),
        ("journal_conflicts", "Batches decided again as another broker was faster", done.lost),
        ("journal_handed_over", "Commands that another broker decided", done.handed_over),
        ("journal_doubts", "Batches whose outcome was not known in time", done.doubted),
        ("journal_retries", "Questions to etcd that were asked again", standing.retries),
    ];
    for (name, help, value) in counters {
        let counter = ConstCounter::new(value);
        let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
        counter.encode(metric)?;
    }
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let lag = standing.known.number.saturating_sub(standing.applied.number);
    let gauges = [
        ("journal_entry", "The last entry that was applied", number(standing.applied.number)),
        ("journal_lag", "Entries that are known of and not applied yet", number(lag)),
        ("journal_brokers", "Brokers that share the ledger", whole(standing.brokers)),
    ];
    for (name, help, value) in gauges {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        metric.encode_gauge(&value)?;
    }
    let ages = [
        ("journal_age", "How old what is shown may be", Some(standing.age)),
        (
            "journal_snapshot_age",
            "How old the last snapshot is",
            standing.snapshot.map(|(age, _)| age),
        ),
    ];
    for (name, help, age) in ages {
        let Some(age) = age else { continue };
        let unit = Some(&Unit::Seconds);
        let mut metric = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        metric.encode_gauge(&age.as_secs_f64())?;
    }
    Ok(())
}

fn encode_states(tally: &Tally, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "Clusters by state: silent ones have never advertised";
    let mut metric = encoder.encode_descriptor("clusters", help, None, MetricType::Gauge)?;
    for state in State::ALL {
        let count = whole(tally.clusters(state));
        metric.encode_family(&[("state", state.name())])?.encode_gauge(&count)?;
    }
    Ok(())
}

fn encode_writer(meters: &Meters, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let help = "Commands that wait for the ledger's writer";
    let mut metric = encoder.encode_descriptor("queue", help, None, MetricType::Gauge)?;
    metric.encode_gauge(&i64::try_from(meters.waiting()).unwrap_or(i64::MAX))?;
    let help = "Commands that were answered by one commit";
    let metric = encoder.encode_descriptor("batch_commands", help, None, MetricType::Histogram)?;
    encode_distribution(&meters.batches(), 1.0, metric)?;
    let help = "How long commits took";
    let metric = encoder.encode_descriptor(
        "commit_duration",
        help,
        Some(&Unit::Seconds),
        MetricType::Histogram,
    )?;
    encode_distribution(&meters.commit_micros(), 1e6, metric)
}

#[expect(clippy::cast_precision_loss, reason = "graphs do not show the sixteenth digit")]
fn encode_distribution(
    told: &Distributed,
    per_unit: f64,
    mut metric: MetricEncoder<'_>,
) -> Result<(), Error> {
    let bound = |bound: Option<u64>| bound.map_or(f64::INFINITY, |bound| bound as f64 / per_unit);
    let buckets: Vec<_> = told.buckets.iter().map(|(at, count)| (bound(*at), *count)).collect();
    metric.encode_histogram::<NoLabelSet>(told.sum as f64 / per_unit, told.count(), &buckets, None)
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
