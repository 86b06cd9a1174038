//! A failing disk: at some moment it takes no more, callers are told, and what was acknowledged is there afterwards.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, ReservationRequest};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_fleet::name;
use tokio::task::JoinSet;

use super::recovery::{CALLERS, look};
use crate::broker::Broker;
use crate::checks::kept;
use crate::offer::publish_huge;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// So much more than it has, in bytes, the ledger's file may have when the disk fails.
const MORE: [u64; 5] = [0, 1 << 20, 2 << 20, 4 << 20, 8 << 20];

/// In which `ulimit -f` counts.
const BLOCK: u64 = 512;

/// The end of a broker that sees that it will not help.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn clusters(_: Size) -> usize {
    CALLERS + 1
}

pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let rounds = stage.pick(&MORE[..], &MORE[..1]);
    let progress = stage.progress("failing-disk", rounds.len());
    let mut table = Table::new(
        "The file of the ledger may grow by so much, then every write fails",
        &[
            "room",
            "acknowledged before",
            "told as",
            "the broker",
            "there after a restart",
            "verify",
        ],
    );
    for more in rounds.iter().copied() {
        table.row(round(stage, more, &mut outcome).await?);
        progress.done();
    }
    outcome.tables.push(table);
    outcome.note("The limit is one on the size of files (`ulimit -f`), which fails like a full disk: at any write, for good, until the broker is started without it.");
    Ok(outcome)
}

async fn round(stage: &Stage, more: u64, outcome: &mut Outcome) -> Result<Vec<Cell>, Trouble> {
    let mut broker = Broker::start(stage)?;
    publish_huge(&*broker.connect(name(0).as_str())?, name(0).as_str()).await?;
    broker.kill()?;
    let size = std::fs::metadata(broker.data().join("ledger.redb"))?.len();
    let mut limited = limited(&broker.command(), (size + more).div_ceil(BLOCK));
    broker.restart_as(&mut limited)?;
    let (mut answered, open, why) = reserve_until_it_fails(&broker).await?;
    let end = ended(&mut broker).await?;
    broker.kill()?;
    broker.restart()?;
    let provider = broker.connect(name(0).as_str())?;
    let acknowledged = answered.len();
    // Whatever became of those that were not acknowledged: asked again, they are answered, once.
    for (number, intent) in open {
        let caller = broker.connect(name(number).as_str())?;
        let made = caller.reserve(&request(), &intent).await?;
        answered.push((intent.to_string(), made.id));
    }
    let seen = look(&broker, &provider, answered).await?;
    let wrong = kept(&seen);
    let there = seen.found.len();
    outcome.breaks(wrong.iter().map(|wrong| format!("{more} bytes more: {wrong}")));
    let findings = broker.verify()?;
    let verified = if findings.is_empty() { "nothing wrong" } else { "findings" };
    outcome.breaks(findings);
    outcome.count("rounds", 1_u64);
    outcome.count("acknowledged", acknowledged);
    Ok(vec![
        Cell::Bytes(more),
        Cell::count(acknowledged),
        Cell::text(why),
        Cell::text(end),
        Cell::text(format!(
            "all of {acknowledged}, and {} that were asked again",
            there - acknowledged
        )),
        Cell::text(verified),
    ])
}

/// The same command under a limit; a write beyond it is an error, not a signal.
fn limited(plain: &Command, blocks: u64) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\""]).arg(blocks.to_string());
    command.arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stderr(std::process::Stdio::piped());
    command
}

fn request() -> ReservationRequest {
    let duration = Some("10h".to_owned());
    ReservationRequest { duration, ..rear_agent_sdk::request("1m", "1Mi") }
}

/// What was acknowledged under which intent, and what was not: by whom, and under which intent.
type Reserved = (Vec<(String, String)>, Vec<(usize, Intent)>, String);

/// Callers at once, each until it is told that it cannot be kept; and how that was told.
async fn reserve_until_it_fails(broker: &Broker<'_>) -> Result<Reserved, Trouble> {
    let mut asking = JoinSet::new();
    for number in 1..=CALLERS {
        asking.spawn(reserve_on(number, broker.connect(name(number).as_str())?));
    }
    let (mut answered, mut open, mut why) = (Vec::new(), Vec::new(), BTreeSet::new());
    while let Some(asked) = asking.join_next().await {
        let (granted, left, told) = asked.map_err(std::io::Error::other)??;
        answered.extend(granted);
        open.push(left);
        why.insert(told);
    }
    Ok((answered, open, why.into_iter().collect::<Vec<_>>().join("; ")))
}

type Asked = (Vec<(String, String)>, (usize, Intent), String);

async fn reserve_on(number: usize, caller: Arc<HttpCommunicator>) -> Result<Asked, Error> {
    let mut answered = Vec::new();
    loop {
        let intent = Intent::new();
        match caller.reserve(&request(), &intent).await {
            Ok(made) => answered.push((intent.to_string(), made.id)),
            Err(error) if error.is_transient() || matches!(error, Error::OutcomeUnknown { .. }) => {
                return Ok((answered, (number, intent), error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
}

/// How its process ended, or that it goes on and refuses.
async fn ended(broker: &mut Broker<'_>) -> Result<String, Trouble> {
    let end = tokio::time::Instant::now() + PATIENCE;
    while tokio::time::Instant::now() < end {
        if let Some(status) = broker.ended()? {
            return Ok(match status.code() {
                Some(code) => format!("ended with code {code}"),
                None => format!("was ended by signal {:?}", status.signal()),
            });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok("goes on and refuses".to_owned())
}
