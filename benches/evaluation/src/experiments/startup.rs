//! Start-up: a certificate, a process, and its first advertisement, which the broker's events tell of; warm and cold.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rear_agent_sdk::HttpCommunicator;
use rear_agent_sdk::communicator::{BrokerCommunicator, EventStream};
use rear_fleet::Latencies;
use rustix::fs::{Advice, fadvise};
use tokio::time::{Instant, timeout};

use super::footprint::host_agent;
use crate::broker::Broker;
use crate::child::Child;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{ADMINISTRATOR, Size, Stage, Trouble};

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn clusters(_: Size) -> usize {
    1
}

#[derive(Default)]
struct Times {
    certificate: Latencies,
    /// From the start of the process.
    advertised: Latencies,
    whole: Latencies,
}

pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let trials = stage.pick(50, 2);
    let progress = stage.progress("startup", 2 * trials);
    let data = stage.new_folder("authority")?;
    std::fs::remove_dir(&data)?;
    let broker_program = stage.programs().path("rear-broker")?;
    run_to_its_end(
        Command::new(&broker_program)
            .args(["init", "--administrator", ADMINISTRATOR, "--data"])
            .arg(&data),
    )?;
    let broker = Broker::start_on(stage, data.clone(), data.join("tls"), &[])?;
    let administrator =
        HttpCommunicator::new(&broker.address(), data.join("issued").join(ADMINISTRATOR))?;
    let mut events = administrator.events(None).await?;
    let bare = bare_process(trials)?;
    let mut table = Table::new(
        "From nothing to the first advertisement of an agent of the SDK",
        &["", "step", "trials", "p50", "p99", "max", "p50 of a process that does nothing"],
    );
    for cold in [false, true] {
        let which = if cold { "cold" } else { "warm" };
        let mut times = Times::default();
        for trial in 0..trials {
            let start = Start {
                stage,
                broker: &broker,
                data: &data,
                who: format!("{which}-{trial}"),
                cold,
            };
            start.time(&broker_program, &mut *events, &mut times).await?;
            progress.done();
        }
        let steps = [
            ("certificate (`certs issue`)", &times.certificate),
            ("process until its first advertisement was durable", &times.advertised),
            ("both", &times.whole),
        ];
        for (step, times) in steps {
            table.row(row(which, step, times, bare));
        }
        outcome.count(which, times.whole.count());
    }
    drop(events);
    outcome.breaks(broker.verify()?);
    outcome.tables.push(table);
    outcome.note("Cold: the program's file is dropped from the system's memory before (`posix_fadvise`), so that it is read from the disk. The end is when the event of the advertisement reaches a client that waits for it.");
    Ok(outcome)
}

fn row(which: &str, step: &str, times: &Latencies, bare: Duration) -> Vec<Cell> {
    let p50 = times.percentile(50);
    vec![
        Cell::text(which),
        Cell::text(step),
        Cell::Count(times.count()),
        Cell::ms(p50),
        Cell::ms(times.percentile(99)),
        Cell::ms(times.max()),
        Cell::times(p50.as_secs_f64(), bare.as_secs_f64()),
    ]
}

/// An agent that is to be started.
struct Start<'a> {
    stage: &'a Stage,
    broker: &'a Broker<'a>,
    data: &'a Path,
    who: String,
    cold: bool,
}

impl Start<'_> {
    async fn time(
        &self,
        broker_program: &PathBuf,
        events: &mut dyn EventStream,
        times: &mut Times,
    ) -> Result<(), Trouble> {
        let program = host_agent(self.stage)?;
        if self.cold {
            forget_file(&program)?;
        }
        let began = Instant::now();
        let issue = ["certs", "issue", &self.who, "--data"];
        run_to_its_end(Command::new(broker_program).args(issue).arg(self.data))?;
        let issued = Instant::now();
        let mut command = Command::new(program);
        command.arg(self.broker.address()).arg(self.data.join("issued").join(&self.who));
        command.arg(&self.who).arg(self.stage.folder().join(format!("{}.json", self.who)));
        let agent = Child::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
        let late = |_| Trouble::Other(format!("{} does not advertise", self.who));
        timeout(PATIENCE, advertised(events, &self.who)).await.map_err(late)??;
        let told = Instant::now();
        drop(agent);
        times.certificate.record(issued - began);
        times.advertised.record(told - issued);
        times.whole.record(told - began);
        Ok(())
    }
}

async fn advertised(events: &mut dyn EventStream, who: &str) -> Result<(), Trouble> {
    while let Some(event) = events.next().await? {
        if event.name == "advertisement" && event.data.cluster_id.as_deref() == Some(who) {
            return Ok(());
        }
    }
    Err(Trouble::Other("the stream of events ended".to_owned()))
}

fn run_to_its_end(command: &mut Command) -> Result<(), Trouble> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(Trouble::Other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The next to read it reads it from the disk.
fn forget_file(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// The median time of starting a program that does nothing, and its end.
fn bare_process(trials: usize) -> Result<Duration, Trouble> {
    let mut times = Vec::new();
    for _ in 0..trials {
        let start = Instant::now();
        run_to_its_end(&mut Command::new("true"))?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
