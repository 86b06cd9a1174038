//! Footprint: what the agent of a host costs while it advertises every 30 s and waits for news.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rear_agent_sdk::communicator::BrokerCommunicator;
use rear_fleet::{Cost, name};
use tokio::time::sleep;

use crate::broker::Broker;
use crate::child::Child;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// How long it is waited between two looks whether an agent has advertised.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) fn clusters(_: Size) -> usize {
    1
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let span = stage.pick(Duration::from_mins(1), Duration::from_secs(1));
    let progress = stage.progress("footprint", 1);
    let mut table = Table::new(
        "An agent of the SDK (`host_agent`), idle",
        &["processor, of a core", "processor of a minute, in echoes", "memory", "of it its own"],
    );
    let broker = Broker::start(stage)?;
    let who = name(0).to_string();
    let agent = start(stage, &broker, &host_agent(stage)?, &who)?;
    advertised(&broker, &who).await?;
    // What starting costs is another test.
    sleep(stage.pick(Duration::from_secs(5), Duration::ZERO)).await;
    let cost = Cost::watch(agent.id(), span).await?;
    outcome.expect(cost.resident > 0, || "no memory".to_owned());
    outcome.count("agents", 1_u64);
    let share = cost.cpu.as_secs_f64() / cost.span.as_secs_f64();
    table.row([
        Cell::Percent(100.0 * share),
        Cell::times(share * 60_000.0, limits.echo_cpu_ms),
        Cell::Bytes(cost.resident),
        Cell::Bytes(cost.anonymous),
    ]);
    progress.done();
    outcome.breaks(broker.verify()?);
    outcome.tables.push(table);
    outcome.note("The Kubernetes agent is in the test `kubernetes`.");
    Ok(outcome)
}

pub(super) fn host_agent(stage: &Stage) -> Result<PathBuf, Trouble> {
    stage.programs().path("examples/host_agent")
}

fn start(stage: &Stage, broker: &Broker<'_>, program: &Path, who: &str) -> Result<Child, Trouble> {
    let promises = stage.folder().join(format!("{who}.json"));
    let mut command = Command::new(program);
    command.arg(broker.address()).arg(stage.certificates(who)).arg(who).arg(promises);
    Ok(Child::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()))?)
}

async fn advertised(broker: &Broker<'_>, who: &str) -> Result<(), Trouble> {
    let (administrator, id) =
        (broker.administrator()?, who.parse().map_err(std::io::Error::other)?);
    while administrator.advertisement(&id).await?.is_none() {
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}
