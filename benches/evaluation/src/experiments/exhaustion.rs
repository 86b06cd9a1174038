//! Exhaustion: callers reserve until nothing fits, the rest is taken to the last unit, then all of it is given back.

use std::collections::BTreeMap;
use std::sync::Arc;

use rear_agent_sdk::communicator::{BrokerCommunicator, Reservation, ReservationRequest};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_api::problem::Code;
use rear_engine::Resources;
use rear_fleet::{Chance, name};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::broker::Broker;
use crate::checks::{given_back, used_up};
use crate::offer::{Amounts, list, offer, request};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

const GIB: u64 = 1 << 30;

/// What callers ask for are multiples of this, and what clusters have is not: something is always left for the end.
const PIECE_CPU: u64 = 250;
const PIECE_MEMORY: u64 = GIB / 4;

/// Of memory and CPU, what one request may want, in pieces.
const MOST_PIECES: u64 = 8;

const CALLERS: usize = 8;

fn providers(size: Size) -> usize {
    match size {
        Size::Full => 48,
        Size::Short => 4,
    }
}

pub(super) fn clusters(size: Size) -> usize {
    providers(size) + CALLERS
}

type Grants = Vec<(Reservation, Amounts)>;

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let broker = Broker::start(stage)?;
    let count = providers(stage.size());
    let progress = stage.progress("exhaustion", 5);
    let there = advertise(stage, &broker, count).await?;
    let before = available(&broker, count).await?;
    outcome.breaks(given_back(&there, &before));
    progress.done();
    let began = Instant::now();
    let mut grants = take_pieces(stage, &broker, count).await?;
    let (pieces, took) = (grants.len(), began.elapsed());
    progress.done();
    let caller = broker.connect(name(count).as_str())?;
    grants.extend(take_the_rest(&caller, &available(&broker, count).await?).await?);
    progress.done();
    outcome.breaks(grants.iter().filter(|(made, asked)| amounts(made) != Some(*asked)).map(
        |(made, asked)| {
            format!("{}: {asked:?} was asked for, {:?} granted", made.id, made.requested_resources)
        },
    ));
    let granted: Vec<_> =
        grants.iter().map(|(made, asked)| (made.target_cluster_id.clone(), *asked)).collect();
    outcome.breaks(used_up(&there, &granted));
    match caller.reserve(&request([1, 1, 0, 0]), &Intent::new()).await {
        Err(error) if is_no_room(&error) => {}
        other => outcome.breaks([format!("1m and 1 byte more: {other:?}")]),
    }
    release_all(stage, &broker, &grants).await?;
    progress.done();
    outcome.breaks(given_back(&before, &available(&broker, count).await?));
    outcome.breaks(broker.verify()?);
    outcome.count("granted", grants.len());
    outcome.count("providers", count);
    outcome.tables.push(table(&there, &grants, pieces, took.as_secs_f64(), limits));
    Ok(outcome)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn table(
    there: &BTreeMap<String, Amounts>,
    grants: &Grants,
    pieces: usize,
    seconds: f64,
    limits: &Limits,
) -> Table {
    let mut sums = [[0_u64; 4]; 2];
    for amounts in there.values() {
        sums[0].iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }
    for (_, amounts) in grants {
        sums[1].iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }
    let mut table = Table::new(
        &format!(
            "{} reservations on {} clusters until nothing fitted; {pieces} of them by {CALLERS} callers at once, {:.0} a second, {:.2} of the echoes a second",
            grants.len(),
            there.len(),
            pieces as f64 / seconds,
            pieces as f64 / seconds / limits.echoes_per_second.max(f64::MIN_POSITIVE),
        ),
        &["", "millicores", "bytes of memory", "GPUs", "bytes of storage"],
    );
    for (what, sum) in ["was there", "was granted"].into_iter().zip(sums) {
        table.row([Cell::text(what)].into_iter().chain(sum.map(Cell::Count)));
    }
    table
}

/// Clusters of odd sizes, partly used. What is available on each.
async fn advertise(
    stage: &Stage,
    broker: &Broker<'_>,
    count: usize,
) -> Result<BTreeMap<String, Amounts>, Trouble> {
    let mut chance = Chance::new(stage.seed(), 2);
    let mut there = BTreeMap::new();
    for number in 0..count {
        let id = name(number).to_string();
        let cores = chance.between(4, stage.pick(64, 8));
        let odd = [chance.between(1, PIECE_CPU - 1), chance.between(1, PIECE_MEMORY - 1)];
        let free = [
            cores * 1000 + odd[0],
            cores * chance.between(2, 6) * GIB + odd[1],
            chance.between(0, 6),
            chance.between(0, 500) * GIB + chance.between(1, GIB),
        ];
        let used =
            [chance.between(0, 9000), chance.between(0, 20 * GIB), 0, chance.between(0, GIB)];
        let whole = std::array::from_fn(|at| free[at] + used[at]);
        broker.connect(&id)?.publish(&offer(&id, list(whole), list(used))).await?;
        there.insert(id, free);
    }
    Ok(there)
}

/// What the broker shows as available, by cluster.
async fn available(
    broker: &Broker<'_>,
    count: usize,
) -> Result<BTreeMap<String, Amounts>, Trouble> {
    let administrator = broker.administrator()?;
    let mut shown = BTreeMap::new();
    for id in (0..count).map(name) {
        let Some(seen) = administrator.advertisement(&id).await? else { continue };
        let amounts = seen.resources.available.resources().map(Resources::amounts);
        shown.insert(id.to_string(), amounts.unwrap_or_default());
    }
    Ok(shown)
}

/// Callers at once, each until not even the smallest piece fits anywhere.
async fn take_pieces(stage: &Stage, broker: &Broker<'_>, count: usize) -> Result<Grants, Trouble> {
    let mut asking = JoinSet::new();
    for number in 0..CALLERS {
        let caller = broker.connect(name(count + number).as_str())?;
        let chance = Chance::new(stage.seed(), 1000 + number as u64);
        asking.spawn(take(caller, chance));
    }
    let mut grants = Vec::new();
    while let Some(taken) = asking.join_next().await {
        grants.extend(taken.map_err(std::io::Error::other)??);
    }
    Ok(grants)
}

async fn take(caller: Arc<HttpCommunicator>, mut chance: Chance) -> Result<Grants, Error> {
    let mut grants = Vec::new();
    let mut most = MOST_PIECES;
    loop {
        let [cpu, memory] = [PIECE_CPU, PIECE_MEMORY].map(|piece| piece * chance.between(1, most));
        let plain = most == 1;
        let gpu = u64::from(!plain && chance.percent(10));
        let storage = if plain { 0 } else { chance.between(0, 3) * GIB };
        let wanted = [cpu, memory, gpu, storage];
        match caller.reserve(&request(wanted), &Intent::new()).await {
            Ok(made) => grants.push((made, wanted)),
            Err(error) if is_no_room(&error) && plain => return Ok(grants),
            Err(error) if is_no_room(&error) => most -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// What is left on each cluster, of each exactly that.
async fn take_the_rest(
    caller: &HttpCommunicator,
    left: &BTreeMap<String, Amounts>,
) -> Result<Grants, Trouble> {
    let mut grants = Vec::new();
    for (cluster, amounts) in left {
        let target_cluster_id = Some(cluster.clone());
        let wanted = ReservationRequest { target_cluster_id, ..request(*amounts) };
        grants.push((caller.reserve(&wanted, &Intent::new()).await?, *amounts));
    }
    Ok(grants)
}

async fn release_all(stage: &Stage, broker: &Broker<'_>, grants: &Grants) -> Result<(), Trouble> {
    let count = providers(stage.size());
    for number in 0..CALLERS {
        let caller = broker.connect(name(count + number).as_str())?;
        let own = name(count + number);
        for (made, _) in grants.iter().filter(|(made, _)| made.requester_id == own.as_str()) {
            caller.release(&made.id).await?;
        }
    }
    Ok(())
}

fn amounts(made: &Reservation) -> Option<Amounts> {
    made.requested_resources.resources().ok().map(Resources::amounts)
}

pub(super) fn is_no_room(error: &Error) -> bool {
    matches!(error, Error::Refused(refused) if refused.code == Some(Code::NoRoom))
}
