//! etcd, for scale: the same load as compare-and-put, one node and three, beside a broker that grants, and brokers that share
//! a ledger on it.

mod client;
mod message;

use std::time::Duration;

use rear_fleet::{Latencies, Load};
use rear_testbed::{Etcd, Members};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::client::Client;
use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

const CALLERS: [usize; 4] = [1, 8, 64, 256];
const FEW_CALLERS: [usize; 1] = [4];

/// About as long as the record of a reservation.
const VALUE: usize = 256;

fn steps(size: Size) -> &'static [usize] {
    match size {
        Size::Full => &CALLERS,
        Size::Short => &FEW_CALLERS,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    steps(size).iter().max().copied().unwrap_or(0) + 1
}

/// On which keys callers write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Nobody is in anyone's way.
    OwnEach,
    /// All on one, as a ledger of one provider would be.
    OneForAll,
}

/// What came of one load.
#[derive(Default)]
struct Put {
    latencies: Latencies,
    /// Compares that failed because someone else was faster.
    lost: u64,
    took: Duration,
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let span = stage.pick(Duration::from_secs(3), Duration::from_millis(500));
    let steps = steps(stage.size());
    let progress = stage.progress("etcd", 7 * steps.len());
    let mut table = Table::new(
        "As fast as answers come, each caller on one connection that it keeps",
        &[
            "what",
            "callers",
            "done",
            "a second",
            "p50",
            "p99",
            "lost races",
            "p50 in writes to the disk",
        ],
    );
    let mut chart = Chart::lines(
        "rate",
        "Durable decisions in a second",
        Axis::log("callers at once"),
        Axis::log("a second"),
    );
    let mut curve = Vec::new();
    for callers in steps.iter().copied() {
        let put = grant(stage, vec![Broker::start(stage)?], callers, span, &mut outcome).await?;
        curve.push(put.row("REAR: a reservation over mTLS", callers, limits, &mut table));
        progress.done();
    }
    chart = chart.with("REAR", std::mem::take(&mut curve));
    for (members, nodes) in [(Members::One, "one node"), (Members::Three, "three nodes")] {
        let start = || Etcd::start(members).map_err(|error| Trouble::Missing(error.to_string()));
        let etcd = tokio::task::block_in_place(start)?;
        for (keys, which) in [(Keys::OwnEach, "a key each"), (Keys::OneForAll, "one key")] {
            for callers in steps.iter().copied() {
                progress.at(format!("{nodes}, {which}"));
                let put = put(&etcd, callers, span, keys, &mut outcome).await?;
                let what = format!("etcd, {nodes}: compare-and-put, {which}");
                curve.push(put.row(&what, callers, limits, &mut table));
                outcome.count("puts", put.latencies.count());
                progress.done();
            }
            chart = chart.with(&format!("etcd: {nodes}, {which}"), std::mem::take(&mut curve));
        }
        if members == Members::One {
            continue;
        }
        for (brokers, what) in [(1, "REAR on them: one broker"), (3, "REAR on them: three brokers")]
        {
            for callers in steps.iter().copied() {
                progress.at(format!("{what}, {callers} callers"));
                let brokers = sharing(stage, &etcd, &format!("{brokers}-{callers}"), brokers)?;
                let put = grant(stage, brokers, callers, span, &mut outcome).await?;
                curve.push(put.row(what, callers, limits, &mut table));
                outcome.count("granted on etcd", put.latencies.count());
                progress.done();
            }
            chart = chart.with(what, std::mem::take(&mut curve));
        }
    }
    outcome.tables.push(table);
    outcome.charts.push(chart);
    outcome.note("etcd is asked over plain HTTP/2 (gRPC) without TLS, REAR over mTLS with its placement, books and audit log: the comparison favours etcd. A put is granted if the key has not changed since it was read; with one key for all, whoever lost the race reads what the answer says and tries again, and the time counts until the put is done. Three nodes run on this one machine and share its disk; brokers on them have their books there and a file each that follows. With three brokers each caller prefers another one.");
    Ok(outcome)
}

/// Brokers on a ledger of their own in etcd.
fn sharing<'a>(
    stage: &'a Stage,
    etcd: &Etcd,
    ledger: &str,
    brokers: usize,
) -> Result<Vec<Broker<'a>>, Trouble> {
    let (endpoints, prefix) = (etcd.endpoints().join(","), format!("/evaluation/{ledger}"));
    let flags = ["--store", "etcd", "--etcd-endpoints", &endpoints, "--etcd-prefix", &prefix];
    (0..brokers).map(|_| Broker::start_with(stage, &flags)).collect()
}

/// Callers ask these brokers, which share a ledger, for a little of one huge cluster.
async fn grant(
    stage: &Stage,
    brokers: Vec<Broker<'_>>,
    callers: usize,
    span: Duration,
    outcome: &mut Outcome,
) -> Result<Put, Trouble> {
    let addresses: Vec<_> = brokers.iter().map(Broker::address).collect();
    let address = addresses.join(",");
    let load = Load { address, certificates: stage.pki(), callers, span };
    let report = load.run().await?;
    outcome.expect(report.is_clean(), || format!("{} brokers: {report}", brokers.len()));
    for broker in brokers {
        outcome.breaks(broker.verify()?);
    }
    Ok(Put { latencies: report.latencies, lost: 0, took: report.took })
}

impl Put {
    fn row(&self, what: &str, callers: usize, limits: &Limits, table: &mut Table) -> (f64, f64) {
        let Self { latencies, lost, took } = self;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = latencies.count() as f64 / took.as_secs_f64();
        let p50 = latencies.percentile(50);
        table.row([
            Cell::text(what),
            Cell::count(callers),
            Cell::Count(latencies.count()),
            Cell::PerSecond(rate),
            Cell::ms(p50),
            Cell::ms(latencies.percentile(99)),
            Cell::Count(*lost),
            Cell::times(p50.as_secs_f64() * 1000.0, limits.sync_ms),
        ]);
        (f64::from(u32::try_from(callers).unwrap_or(u32::MAX)), rate)
    }
}

async fn put(
    etcd: &Etcd,
    callers: usize,
    span: Duration,
    keys: Keys,
    outcome: &mut Outcome,
) -> Result<Put, Trouble> {
    let endpoints = etcd.endpoints();
    let load = format!("{keys:?}-{callers}");
    let key = |number: usize| match keys {
        Keys::OwnEach => format!("{load}-{number}"),
        Keys::OneForAll => load.clone(),
    };
    let start = Instant::now();
    let mut asking = JoinSet::new();
    for number in 0..callers {
        let client = Client::new(&endpoints[number % endpoints.len()])?;
        asking.spawn(put_until(client, key(number), start + span));
    }
    let mut sum = Put::default();
    while let Some(asked) = asking.join_next().await {
        let one = asked.map_err(std::io::Error::other)??;
        sum.latencies.merge(&one.latencies);
        sum.lost += one.lost;
    }
    sum.took = start.elapsed();
    // Every put counts the key's version up by one.
    let client = Client::new(&endpoints[0])?;
    let mut versions = 0;
    for number in 0..if keys == Keys::OwnEach { callers } else { 1 } {
        versions += client.version(&key(number)).await?;
    }
    let done = sum.latencies.count();
    outcome.expect(versions == done, || format!("{load}: {done} puts, {versions} versions"));
    Ok(sum)
}

async fn put_until(client: Client, key: String, end: Instant) -> Result<Put, Trouble> {
    let mut put = Put::default();
    let mut known = 0;
    while Instant::now() < end {
        let start = Instant::now();
        loop {
            let answer = client.compare_and_put(&key, known, &[7; VALUE]).await?;
            known = answer.revision;
            if answer.succeeded {
                break;
            }
            put.lost += 1;
        }
        put.latencies.record(start.elapsed());
    }
    Ok(put)
}
