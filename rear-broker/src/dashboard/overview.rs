//! How the fleet stands, in one piece: sums, who borrows from whom, what is wrong, what was refused.

use std::collections::BTreeMap;

use rear_api::event::EventData;
use rear_api::moment;
use rear_engine::fleet::Cluster;
use rear_engine::{ClusterId, Dimension};
use rear_store::View;
use rear_store::view::Told;
use serde::Serialize;

use super::Amounts;
use super::clusters::State;
use crate::broker::Broker;
use crate::refusals::Refused;
use crate::routes::shown_event;

/// Arrows between clusters that are drawn: a picture with more is not read.
const MAX_FLOWS: usize = 40;

/// Clusters that are named for each kind of trouble.
const MAX_NAMED: usize = 20;

/// Events that the page begins with.
const MAX_EVENTS: usize = 30;

/// A certificate is renewed by then, or someone should look.
const EXPIRES_SOON: i64 = 14 * 24 * 60 * 60;

/// Everything that is seen at a glance.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Overview {
    version: &'static str,
    revision: String,
    now: String,
    /// By dimension; GPU and storage where there are any.
    sums: BTreeMap<&'static str, Amounts>,
    clusters: States,
    reservations: Phases,
    flows: Vec<Flow>,
    /// How many more pairs there are.
    more_flows: usize,
    troubles: Vec<Trouble>,
    refused: Vec<Refused>,
    /// What happened last, the newest first.
    events: Vec<Happened>,
}

#[derive(Debug, Serialize)]
struct Happened {
    id: String,
    #[serde(flatten)]
    data: EventData,
}

#[derive(Debug, Default, Serialize)]
struct States {
    all: usize,
    fresh: usize,
    stale: usize,
    overcommitted: usize,
    recovering: usize,
    silent: usize,
}

#[derive(Debug, Serialize)]
struct Phases {
    reserved: usize,
    active: usize,
    released: usize,
    failed: usize,
}

/// What one cluster has promised to another.
#[derive(Debug, Serialize)]
struct Flow {
    from: ClusterName,
    to: ClusterName,
    cpu: u64,
    memory: u64,
    gpu: u64,
    storage: u64,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct ClusterName(String);

/// Something that someone should look at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Trouble {
    what: String,
    remedy: &'static str,
    clusters: Vec<ClusterName>,
    more: usize,
}

impl Overview {
    pub(super) fn of(broker: &Broker, view: &View) -> Self {
        let counts = view.counts();
        let mut seen = Seen::default();
        for cluster in view.fleet().clusters() {
            seen.look_at(view, cluster);
        }
        let more_flows = seen.flows.len().saturating_sub(MAX_FLOWS);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            revision: view.position().to_string(),
            now: moment::text(view.now()),
            sums: seen.sums(),
            flows: seen.largest_flows(),
            more_flows,
            troubles: troubles(broker, view, &mut seen.states),
            clusters: seen.count(),
            reservations: Phases {
                reserved: counts.reserved,
                active: counts.active,
                released: counts.released,
                failed: counts.failed,
            },
            refused: broker.refusals.newest(),
            events: view.latest().take(MAX_EVENTS).map(|told| happened(told, view)).collect(),
        }
    }
}

fn happened(told: &Told, view: &View) -> Happened {
    let mut data = shown_event(told, view);
    // The page names clusters; what they have is in its other parts.
    data.advertisement = None;
    Happened { id: told.id.to_string(), data }
}

/// What one look at every cluster gives.
#[derive(Default)]
struct Seen<'a> {
    sums: [Amounts; 4],
    states: Vec<(State, &'a ClusterId)>,
    flows: Vec<(&'a ClusterId, &'a ClusterId, rear_engine::Resources)>,
}

impl<'a> Seen<'a> {
    fn look_at(&mut self, view: &View, cluster: &'a Cluster) {
        for dimension in Dimension::ALL {
            let amounts = Amounts::of(cluster, dimension).unwrap_or_default();
            self.sums[dimension.index()].add(amounts);
        }
        let id = &cluster.record().id;
        self.states.push((State::of(view, cluster, view.now()), id));
        let accounts = cluster.ledger().accounts().filter(|(_, held)| !held.is_none());
        self.flows.extend(accounts.map(|(requester, held)| (id, requester, held)));
    }

    fn sums(&self) -> BTreeMap<&'static str, Amounts> {
        let always = |dimension| matches!(dimension, Dimension::Cpu | Dimension::Memory);
        let sum = |dimension: Dimension| (dimension, self.sums[dimension.index()]);
        Dimension::ALL
            .into_iter()
            .map(sum)
            .filter(|(dimension, sum)| always(*dimension) || *sum != Amounts::default())
            .map(|(dimension, sum)| (dimension.name(), sum))
            .collect()
    }

    /// By processors, then by memory, then by name: the same picture for the same ledger.
    fn largest_flows(&mut self) -> Vec<Flow> {
        self.flows.sort_unstable_by(|a, b| {
            b.2.amounts().cmp(&a.2.amounts()).then_with(|| (a.0, a.1).cmp(&(b.0, b.1)))
        });
        let flow =
            |(provider, requester, held): &(&ClusterId, &ClusterId, rear_engine::Resources)| {
                let [cpu, memory, gpu, storage] = held.amounts();
                Flow { from: provider.into(), to: requester.into(), cpu, memory, gpu, storage }
            };
        self.flows.iter().take(MAX_FLOWS).map(flow).collect()
    }

    fn count(&self) -> States {
        let count = |wanted| self.states.iter().filter(|(state, _)| *state == wanted).count();
        States {
            all: self.states.len(),
            fresh: count(State::Fresh),
            stale: count(State::Stale),
            overcommitted: count(State::Overcommitted),
            recovering: count(State::Recovering),
            silent: count(State::Silent),
        }
    }
}

impl From<&&ClusterId> for ClusterName {
    fn from(id: &&ClusterId) -> Self {
        Self(id.to_string())
    }
}

fn troubles(broker: &Broker, view: &View, states: &mut [(State, &ClusterId)]) -> Vec<Trouble> {
    states.sort_unstable_by(|a, b| a.1.cmp(b.1));
    let kinds = [
        (
            State::Overcommitted,
            "have promised or used more than they have",
            "They get no new promises; release some of theirs, or let them grow.",
        ),
        (
            State::Stale,
            "have not advertised for too long",
            "See whether their agents run and reach the broker; `forget` those that are gone for good.",
        ),
        (
            State::Recovering,
            "have not yet said what they hold after a restore",
            "Nothing is granted on them before; for agents that never say, end it with `rear-broker recover`.",
        ),
    ];
    let of_clusters = kinds.into_iter().filter_map(|(state, what, remedy)| {
        let named = || states.iter().filter(|(found, _)| *found == state).map(|(_, id)| id);
        let count = named().count();
        (count > 0).then(|| Trouble {
            what: format!("{count} {what}"),
            remedy,
            clusters: named().take(MAX_NAMED).map(ClusterName::from).collect(),
            more: count.saturating_sub(MAX_NAMED),
        })
    });
    let certificates = certificates(broker, view);
    of_broker(broker, view).into_iter().chain(of_clusters).chain(certificates).collect()
}

/// Clusters that are shut out soon.
fn certificates(broker: &Broker, view: &View) -> Option<Trouble> {
    let mut soon = broker.certificates.ending_soon(seconds(view));
    soon.retain(|cluster| view.fleet().cluster(cluster).is_some());
    let (first, rest) = soon.split_at(soon.len().min(MAX_NAMED));
    (!first.is_empty()).then(|| Trouble {
        what: format!("{} have a certificate that ends soon", soon.len()),
        remedy: "Issue new ones (`rear-broker certs issue NAME`, or your issuer): agents take them up by themselves.",
        clusters: first.iter().map(|cluster| ClusterName(cluster.to_string())).collect(),
        more: rest.len(),
    })
}

/// Since 1970.
fn seconds(view: &View) -> i64 {
    view.now().as_nanos() / 1_000_000_000
}

fn of_broker(broker: &Broker, view: &View) -> Vec<Trouble> {
    let plain = |what, remedy| Trouble { what, remedy, clusters: Vec::new(), more: 0 };
    let health = broker.store.health();
    let alarm = health.borrow().alarm.map(|alarm| {
        plain(
            alarm.to_string(),
            "Nothing is granted or expired: set the clock, or confirm it if it is right.",
        )
    });
    let left = broker.metrics.certificate_expiry() - seconds(view);
    let certificate = (left < EXPIRES_SOON).then(|| {
        let days = left / (24 * 60 * 60);
        let what = if left < 0 {
            "the broker's own certificate has expired".to_owned()
        } else {
            format!("the broker's own certificate expires in {days} days")
        };
        plain(what, "Renew it in the folder of certificates: it is taken up without a restart.")
    });
    let cut_off = broker.store.standing().and_then(|standing| standing.stale()).map(|why| {
        plain(
            why,
            "This broker grants nothing and shows what it knew; others of the ledger may go on.",
        )
    });
    alarm.into_iter().chain(cut_off).chain(certificate).collect()
}
