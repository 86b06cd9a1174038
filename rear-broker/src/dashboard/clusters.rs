//! Clusters as a list: searched, sorted, and cut where nobody reads on.

use std::cmp::Reverse;

use rear_api::moment;
use rear_engine::fleet::Cluster;
use rear_engine::place::score::displayed;
use rear_engine::{Dimension, Timestamp};
use rear_store::View;
use serde::{Deserialize, Serialize};

use super::{Amounts, MAX_ROWS};

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// A part of an id, a name or a `key=value` of its labels.
    #[serde(default)]
    search: String,
    /// Exactly this one.
    id: Option<String>,
    /// Those that stand so only.
    state: Option<State>,
    #[serde(default)]
    sort: Sort,
}

/// In which order.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Name,
    /// The most room first.
    Free,
    /// The most promises first.
    Lends,
}

/// How a cluster stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Fresh,
    Stale,
    Overcommitted,
    Recovering,
    /// It only asks.
    Silent,
}

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    /// How many there are.
    all: usize,
    /// How many of them are meant.
    matching: usize,
    /// The first of these.
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    name: String,
    state: State,
    score: Option<String>,
    received_at: Option<String>,
    /// How many live promises it keeps.
    lends: usize,
    /// How many live promises it has.
    borrows: usize,
    cpu: Option<Amounts>,
    memory: Option<Amounts>,
    gpu: Option<Amounts>,
    storage: Option<Amounts>,
}

impl State {
    pub(super) fn of(view: &View, cluster: &Cluster, now: Timestamp) -> Self {
        let (fleet, record) = (view.fleet(), cluster.record());
        if record.advertised.is_none() {
            Self::Silent
        } else if fleet.is_recovering(record) {
            Self::Recovering
        } else if !fleet.is_fresh(record, now) {
            Self::Stale
        } else if cluster.is_overcommitted() {
            Self::Overcommitted
        } else {
            Self::Fresh
        }
    }
}

pub(super) fn find(view: &View, wanted: &Wanted) -> Found {
    let search = wanted.search.trim().to_lowercase();
    let state = |cluster: &Cluster| State::of(view, cluster, view.now());
    let mut meant: Vec<&Cluster> = view
        .fleet()
        .clusters()
        .filter(|cluster| search.is_empty() || mentions(cluster, &search))
        .filter(|cluster| wanted.id.as_deref().is_none_or(|id| id == cluster.record().id.as_str()))
        .filter(|cluster| wanted.state.is_none_or(|wanted| wanted == state(cluster)))
        .collect();
    meant.sort_unstable_by(|a, b| a.record().id.cmp(&b.record().id));
    match wanted.sort {
        Sort::Name => {}
        Sort::Free => meant.sort_by_cached_key(|cluster| Reverse(free(cluster))),
        Sort::Lends => {
            meant.sort_by_cached_key(|cluster| Reverse(cluster.ledger().total().amounts()));
        }
    }
    let rows = meant.iter().take(MAX_ROWS).map(|cluster| row(view, cluster)).collect();
    Found { all: view.counts().clusters, matching: meant.len(), rows }
}

fn mentions(cluster: &Cluster, search: &str) -> bool {
    let record = cluster.record();
    let told = record.advertisement();
    record.id.as_str().contains(search)
        || told.is_some_and(|told| {
            told.name.to_string().to_lowercase().contains(search)
                || told.labels.iter().any(|(key, value)| format!("{key}={value}").contains(search))
        })
}

/// Millionths of its processors that are free, for an order.
fn free(cluster: &Cluster) -> u128 {
    let cpu = Amounts::of(cluster, Dimension::Cpu).unwrap_or_default();
    (cpu.free * 1_000_000).checked_div(cpu.allocatable).unwrap_or(0)
}

fn row(view: &View, cluster: &Cluster) -> Row {
    let (fleet, record) = (view.fleet(), cluster.record());
    let told = record.advertised.as_ref();
    let amounts = |dimension| {
        let amounts = Amounts::of(cluster, dimension)?;
        let always = matches!(dimension, Dimension::Cpu | Dimension::Memory);
        (always || amounts.allocatable > 0).then_some(amounts)
    };
    Row {
        id: record.id.to_string(),
        name: told.map(|told| told.advertisement.name.to_string()).unwrap_or_default(),
        state: State::of(view, cluster, view.now()),
        score: displayed(cluster, fleet.policy().weights).map(|score| score.to_string()),
        received_at: told.map(|told| moment::text(told.received_at)),
        lends: fleet.live_of_provider(&record.id).count(),
        borrows: fleet.live_of_requester(&record.id).count(),
        cpu: amounts(Dimension::Cpu),
        memory: amounts(Dimension::Memory),
        gpu: amounts(Dimension::Gpu),
        storage: amounts(Dimension::Storage),
    }
}
