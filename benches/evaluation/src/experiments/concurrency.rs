//! Concurrency: more and more callers at once, for plenty and for exactly as much as there is.

use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, Reservation, ReservationRequest, Role};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_fleet::{Latencies, Load, LoadReport, name};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::exhaustion::is_no_room;
use crate::broker::Broker;
use crate::chart::{Axis, Chart};
use crate::checks::{Promise, Sides, sides};
use crate::offer::{list, offer};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// The earlier suite's steps, and on.
const CALLERS: [usize; 12] = [1, 2, 4, 6, 8, 10, 16, 32, 64, 128, 256, 512];
const FEW_CALLERS: [usize; 2] = [1, 8];

/// In the scarce part there is room for so many promises for each caller.
const ROOM_EACH: usize = 8;

const MIB: u64 = 1 << 20;

fn steps(size: Size) -> &'static [usize] {
    match size {
        Size::Full => &CALLERS,
        Size::Short => &FEW_CALLERS,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    steps(size).iter().max().copied().unwrap_or(0) + 1
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let span = stage.pick(Duration::from_secs(5), Duration::from_millis(500));
    let steps = steps(stage.size());
    let progress = stage.progress("concurrency", 2 * steps.len());
    let mut plenty = Table::new(
        "Plenty for everyone: `1m`/`1Mi` of one huge cluster, as fast as answers come",
        &[
            "callers",
            "granted",
            "a second",
            "of the echoes",
            "p50",
            "p95",
            "p99",
            "max",
            "refused falsely",
            "timed out",
            "ledger off by",
        ],
    );
    let mut scarce = Table::new(
        "Just enough: room for eight promises for each caller, who ask until refused",
        &["callers", "room", "granted", "p50", "p99", "double bookings", "lost bookings"],
    );
    let (mut rates, mut medians, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for callers in steps.iter().copied() {
        progress.at(format!("{callers} callers"));
        let report = ask_for_plenty(stage, callers, span, &mut outcome).await?;
        plenty.row(row(callers, &report, limits));
        let x = f64::from(u32::try_from(callers).unwrap_or(u32::MAX));
        rates.push((x, report.per_second()));
        let ms = |percent| report.latencies.percentile(percent).as_secs_f64() * 1000.0;
        medians.push((x, ms(50)));
        late.push((x, ms(99)));
        progress.done();
        scarce.row(ask_for_the_last(stage, callers, &mut outcome).await?);
        progress.done();
    }
    let callers = || Axis::log("callers at once");
    let rate = Chart::lines(
        "rate",
        "Reservations granted in a second",
        callers(),
        Axis::linear("a second"),
    );
    let wait =
        Chart::lines("wait", "How long a caller waits for a grant", callers(), Axis::log("ms"));
    outcome.charts.push(rate.with("granted", rates));
    outcome.charts.push(wait.with("p50", medians).with("p99", late));
    outcome.tables.extend([plenty, scarce]);
    outcome.note("Client and broker share the cores of this machine. Each row has a new broker, whose ledger is verified in the end; in the second table the answers, the requesters' lists and the provider's instructions are compared one by one.");
    Ok(outcome)
}

async fn ask_for_plenty(
    stage: &Stage,
    callers: usize,
    span: Duration,
    outcome: &mut Outcome,
) -> Result<LoadReport, Trouble> {
    let broker = Broker::start(stage)?;
    let load = Load { address: broker.address(), certificates: stage.pki(), callers, span };
    let report = load.run().await?;
    outcome.breaks(broken_by(callers, &report));
    outcome.breaks(broker.verify()?);
    outcome.count("granted of plenty", report.latencies.count());
    Ok(report)
}

/// Whoever is refused is refused falsely, and the ledger has what was granted.
fn broken_by(callers: usize, report: &LoadReport) -> Vec<String> {
    let mut broken: Vec<String> = report
        .refused
        .iter()
        .map(|(why, many)| format!("{callers} callers: {many} refused falsely: {why}"))
        .collect();
    let granted = report.latencies.count();
    if report.booked != granted {
        broken
            .push(format!("{callers} callers: {granted} granted, {} in the ledger", report.booked));
    }
    broken
}

fn row(callers: usize, report: &LoadReport, limits: &Limits) -> Vec<Cell> {
    let latencies = &report.latencies;
    let late =
        |(why, many): (&String, &u64)| if why.contains("no answer within") { *many } else { 0 };
    let timed_out: u64 = report.refused.iter().map(late).sum();
    let refused: u64 = report.refused.values().sum();
    vec![
        Cell::count(callers),
        Cell::Count(latencies.count()),
        Cell::PerSecond(report.per_second()),
        Cell::times(report.per_second(), limits.echoes_per_second),
        Cell::ms(latencies.percentile(50)),
        Cell::ms(latencies.percentile(95)),
        Cell::ms(latencies.percentile(99)),
        Cell::ms(latencies.max()),
        Cell::Count(refused - timed_out),
        Cell::Count(timed_out),
        Cell::Count(report.booked.abs_diff(latencies.count())),
    ]
}

async fn ask_for_the_last(
    stage: &Stage,
    callers: usize,
    outcome: &mut Outcome,
) -> Result<Vec<Cell>, Trouble> {
    let broker = Broker::start(stage)?;
    let room = callers * ROOM_EACH;
    let provider = name(0).to_string();
    let as_provider = broker.connect(&provider)?;
    let units = u64::try_from(room).unwrap_or(u64::MAX);
    let there = list([units, units * MIB, 0, 0]);
    as_provider.publish(&offer(&provider, there, list([0; 4]))).await?;
    let mut asking = JoinSet::new();
    for number in 1..=callers {
        let folder = stage.certificates(name(number).as_str());
        asking
            .spawn(ask_until_refused(HttpCommunicator::one_at_a_time(&broker.address(), folder)?));
    }
    let (mut seen, mut latencies) = (Sides { room, ..Sides::default() }, Latencies::default());
    while let Some(asked) = asking.join_next().await {
        let (granted, listed, times) = asked.map_err(std::io::Error::other)??;
        seen.granted.extend(granted.iter().map(promise));
        seen.requesters.extend(listed.iter().map(promise));
        latencies.merge(&times);
    }
    let told = as_provider.instructions(Role::Provider, None).await?.instructions;
    seen.provider = told.iter().map(promise).collect();
    let granted = seen.granted.len();
    outcome.breaks(sides(&seen).into_iter().map(|broken| format!("{callers} callers: {broken}")));
    outcome.breaks(broker.verify()?);
    outcome.count("granted of the last", granted);
    Ok(vec![
        Cell::count(callers),
        Cell::count(room),
        Cell::count(granted),
        Cell::ms(latencies.percentile(50)),
        Cell::ms(latencies.percentile(99)),
        Cell::count(granted.saturating_sub(room)),
        Cell::count(room.saturating_sub(granted)),
    ])
}

type Asked = (Vec<Reservation>, Vec<Reservation>, Latencies);

/// What was granted, what the caller's own list says, and how long it took.
async fn ask_until_refused(caller: HttpCommunicator) -> Result<Asked, Error> {
    let (mut granted, mut latencies) = (Vec::new(), Latencies::default());
    let duration = Some("1h".to_owned());
    let request = ReservationRequest { duration, ..rear_agent_sdk::request("1m", "1Mi") };
    loop {
        let asked = Instant::now();
        match caller.reserve(&request, &Intent::new()).await {
            Ok(made) => granted.push(made),
            Err(error) if is_no_room(&error) => break,
            Err(error) => return Err(error),
        }
        latencies.record(asked.elapsed());
    }
    let listed = caller.reservations(Role::Requester).await?;
    Ok((granted, listed, latencies))
}

fn promise(made: &Reservation) -> Promise {
    Promise {
        id: made.id.clone(),
        requester: made.requester_id.clone(),
        provider: made.target_cluster_id.clone(),
        amounts: (
            made.requested_resources.cpu.0.clone(),
            made.requested_resources.memory.0.clone(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_refusal_and_a_ledger_that_is_off_are_found() {
        let mut report = LoadReport::default();
        report.latencies.record(Duration::from_millis(1));
        report.booked = 1;
        assert_eq!(broken_by(8, &report), Vec::<String>::new());
        report.booked = 2;
        report.refused.insert("nobody has room".to_owned(), 26);
        let broken = broken_by(8, &report);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].contains("26 refused falsely"), "{broken:?}");
    }
}
